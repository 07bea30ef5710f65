// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1alpha1 "github.com/acme/platform-operator/api/databases/v1alpha1"
)

// decideVersion decides the version of the server: that of the data, if there is any. old: there is data that the status does not
// record. server is what the claim says that its data is of, empty if it says nothing; anybody who may write claims can write it.
func decideVersion(spec v1alpha1.DatabaseSpec, recorded string, old bool, server string) (version, problem string) {
	version, problem = versionOfData(spec, server, old || recorded == "")
	switch {
	case problem != "":
		return "", problem
	case version == "" && old && recorded == "" && spec.Version == "":
		return "", "the PersistentVolumeClaim has data, and does not say of which version: set spec.version to it"
	}
	version = cmp.Or(version, recorded, spec.Version, newest[spec.Type])
	if spec.Version != "" && spec.Version != version {
		return "", fmt.Sprintf("the data belongs to version %s: remove spec.version, or set it to %s", version, version)
	}
	return version, ""
}

// versionOfData is the version that the mark of the data has, if it counts and is one that the schema admits; else it is empty.
func versionOfData(spec v1alpha1.DatabaseSpec, server string, counts bool) (version, problem string) {
	kind, of, known := strings.Cut(server, " ")
	switch {
	case !counts || !known || !slices.Contains(supported[v1alpha1.Type(kind)], of):
		return "", ""
	case kind != string(spec.Type):
		return "", fmt.Sprintf("the PersistentVolumeClaim has data of %s, not of %s: choose another name for this object, or create it with "+
			"spec.type %s", kind, spec.Type, kind)
	}
	return of, ""
}

// serverMark is what a claim and its volume say that their data are of.
func serverMark(kind v1alpha1.Type, version string) string { return string(kind) + " " + version }
