// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"math"
	"regexp"
	"time"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// DatabaseConfig configures the kind Database.
type DatabaseConfig struct {
	// MaxConcurrentReconciles is how many Databases are worked on at the same time. 1 to 100. Default 20.
	// +optional
	MaxConcurrentReconciles *int32 `json:"maxConcurrentReconciles,omitempty"`

	// RetryMax is the longest time between two tries after errors. More than 0. Default 1m.
	// +optional
	RetryMax *Duration `json:"retryMax,omitempty"`

	// PolicyInterval is how often the operator checks that the admission policy that bounds what it writes for
	// Databases is in force; it serves none without it. More than 0. Default 30s.
	// +optional
	PolicyInterval *Duration `json:"policyInterval,omitempty"`

	// AgentImage is the image that has the database agent, as pods of tenants pull it. Default: the image of the
	// operator's own pod.
	// +optional
	AgentImage string `json:"agentImage,omitempty"`

	// ImagePullSecrets are names of Secrets, in the namespaces of Databases, that images are pulled with. Default: none.
	// +optional
	ImagePullSecrets []string `json:"imagePullSecrets,omitempty"`

	// Images are the images of the servers.
	// +optional
	Images DatabaseImages `json:"images,omitzero"`

	// RunAsUser is the user and the group of the servers; 0 leaves both to the platform, as OpenShift wants it.
	// 0 to 2147483647. Default 999, the user of the official images.
	// +optional
	RunAsUser *int64 `json:"runAsUser,omitempty"`
}

// DatabaseImages are the images of the servers, without tags: the tag is the version.
type DatabaseImages struct {
	// Postgres is the image of PostgreSQL. Default postgres.
	// +optional
	Postgres string `json:"postgres,omitempty"`

	// MySQL is the image of MySQL. Default mysql.
	// +optional
	MySQL string `json:"mysql,omitempty"`
}

const (
	// defaultDatabases is how many Databases are worked on at the same time.
	defaultDatabases = 20
	// defaultUser is the user of the official images.
	defaultUser = 999
)

func (c *DatabaseConfig) setDefaults() {
	defaultPointer(&c.MaxConcurrentReconciles, defaultDatabases)
	defaultDuration(&c.RetryMax, time.Minute)
	defaultDuration(&c.PolicyInterval, 30*time.Second)
	defaultTo(&c.Images.Postgres, "postgres")
	defaultTo(&c.Images.MySQL, "mysql")
	defaultPointer(&c.RunAsUser, defaultUser)
}

// image is the reference of an image.
var image = regexp.MustCompile(`^[a-zA-Z0-9][-a-zA-Z0-9._:/@]*$`)

func (c *DatabaseConfig) validate(path *field.Path) field.ErrorList {
	errs := oneTo(path.Child("maxConcurrentReconciles"), *c.MaxConcurrentReconciles, maxReconciles)
	errs = append(errs, positive(path.Child("retryMax"), c.RetryMax)...)
	errs = append(errs, positive(path.Child("policyInterval"), c.PolicyInterval)...)
	for name, reference := range map[string]string{"agentImage": c.AgentImage, "images.postgres": c.Images.Postgres, "images.mysql": c.Images.MySQL} {
		if reference != "" && !image.MatchString(reference) {
			errs = append(errs, field.Invalid(path.Child(name), reference, "must be the reference of an image such as registry.acme.com/postgres"))
		}
	}
	for i, name := range c.ImagePullSecrets {
		if len(validation.NameIsDNSSubdomain(name, false)) > 0 {
			errs = append(errs, field.Invalid(path.Child("imagePullSecrets").Index(i), name, "must be the name of a Secret"))
		}
	}
	if *c.RunAsUser < 0 || *c.RunAsUser > math.MaxInt32 {
		errs = append(errs, field.Invalid(path.Child("runAsUser"), *c.RunAsUser, "must be 0, or the number of a user up to 2147483647, such as 999"))
	}
	return errs
}
