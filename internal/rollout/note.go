/*
Copyright 2026 The Acme Platform Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package rollout

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
)

// Note is the status of an annotated object, in an annotation of it.
type Note struct {
	// UID tells the object from another one that the annotation was copied to.
	UID types.UID `json:"uid"`
	// Ready, Reason and Message are what the condition Ready of a ConfigWatcher would be.
	Ready   metav1.ConditionStatus `json:"ready"`
	Reason  string                 `json:"reason"`
	Message string                 `json:"message,omitempty"`

	common.RestartStatus `json:",inline"`
}

// Asks tells whether an object asks for restarts by its annotation.
func Asks(o client.Object) bool {
	_, asks := o.GetAnnotations()[names.AnnotationPodSelector]
	return asks
}

// ParseSelector reads labels as kubectl takes them, all of which must match: app=webapp,tier=front.
func ParseSelector(text string) (labels.Selector, error) {
	set, err := labels.ConvertSelectorToLabelsMap(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the annotation %s must be labels such as app=webapp, separated by commas: %w", names.AnnotationPodSelector, err)
	case len(set) == 0:
		return nil, fmt.Errorf("the annotation %s is empty, which would select every pod: give labels such as app=webapp", names.AnnotationPodSelector)
	}
	return set.AsValidatedSelector()
}

// ReadNote reads the status. One that cannot be read, or is another object's, is none: the content is then
// taken as it is.
func ReadNote(o *metav1.PartialObjectMetadata) Note {
	n := Note{}
	if err := json.Unmarshal([]byte(o.Annotations[names.AnnotationRestartStatus]), &n); err != nil || n.UID != o.UID {
		return Note{}
	}
	return n
}
