// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	apiopenapi "k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"github.com/acme/platform-operator/api/views/v1alpha1"
	"github.com/acme/platform-operator/internal/views/openapi"
	"github.com/acme/platform-operator/internal/views/storage"
)

var (
	scheme = newScheme()
	codecs = serializer.NewCodecFactory(scheme)
)

// newScheme has the types in the version that is served, and the same as the internal version: nothing is ever converted.
func newScheme() *runtime.Scheme {
	s := servedScheme()
	v1alpha1.AddTypes(s, schema.GroupVersion{Group: v1alpha1.GroupVersion.Group, Version: runtime.APIVersionInternal})
	return s
}

// servedScheme has what clients know.
func servedScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(v1alpha1.AddToScheme(s))
	utilruntime.Must(s.SetVersionPriority(v1alpha1.GroupVersion))
	unversioned := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(s, unversioned)
	s.AddUnversionedTypes(unversioned, &metav1.Status{}, &metav1.APIVersions{}, &metav1.APIGroupList{}, &metav1.APIGroup{}, &metav1.APIResourceList{})
	for _, v := range storage.Views() {
		utilruntime.Must(s.AddFieldLabelConversionFunc(v1alpha1.GroupVersion.WithKind(v.Kind), onlyName))
	}
	return s
}

// onlyName rejects field selectors other than metadata.name.
func onlyName(label, value string) (string, string, error) {
	if label != metav1.ObjectNameField {
		return "", "", fmt.Errorf("field label %q is not supported; views can be selected by metadata.name and by labels", label)
	}
	return label, value, nil
}

// jsonOnly offers JSON and YAML: the types have no other form. Clients that prefer protobuf or CBOR fall back.
type jsonOnly struct{ runtime.NegotiatedSerializer }

func (j jsonOnly) SupportedMediaTypes() []runtime.SerializerInfo {
	return slices.DeleteFunc(slices.Clone(j.NegotiatedSerializer.SupportedMediaTypes()), func(i runtime.SerializerInfo) bool {
		return i.MediaType != runtime.ContentTypeJSON && i.MediaType != runtime.ContentTypeYAML
	})
}

// install adds the views to the API.
func (s *Server) install() error {
	group := genericapiserver.NewDefaultAPIGroupInfo(v1alpha1.GroupVersion.Group, scheme, metav1.ParameterCodec, codecs)
	group.NegotiatedSerializer = jsonOnly{group.NegotiatedSerializer}
	storages := map[string]rest.Storage{}
	for _, v := range storage.Views() {
		storages[v.Resource] = storage.New(s.shared, v)
	}
	group.VersionedResourcesStorageMap[v1alpha1.GroupVersion.Version] = storages
	if err := s.generic.InstallAPIGroup(&group); err != nil {
		return fmt.Errorf("installing the views: %w", err)
	}
	return nil
}

// describe sets what OpenAPI says. The library needs both versions.
func describe(c *genericapiserver.Config) {
	const title = "Acme Platform Operator views"
	names := apiopenapi.NewDefinitionNamer(servedScheme())
	c.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(openapi.GetOpenAPIDefinitions, names)
	c.OpenAPIConfig.Info.Title = title
	c.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(openapi.GetOpenAPIDefinitions, names)
	c.OpenAPIV3Config.Info.Title = title
}
