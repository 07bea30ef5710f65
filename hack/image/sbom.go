// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdx/v2/v2_3"
)

const (
	// noAssertion says that nothing is claimed; it is not looked into the sources.
	noAssertion = "NOASSERTION"
	// epoch is when everything in the image is from, so that the same binary gives the same bytes.
	epoch = "1970-01-01T00:00:00Z"

	license = "Apache-2.0"
)

// bill lists what a binary is made of, in the form of SPDX 2.3: the Go modules and the standard library that its build
// record names. Modules that are only needed to build or test are not in it.
func bill(binary, version string) ([]byte, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("listing what %s is made of: %w", binary, err)
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("listing what %s is made of: %w", binary, err)
	}
	sum := sha256.Sum256(content)
	digest := hex.EncodeToString(sum[:])

	operator := newPackage(info.Main.Path, version, license)
	operator.PackageSourceInfo = "built from the module " + info.Main.Path
	operator.PackageChecksums = []common.Checksum{{Algorithm: common.SHA256, Value: digest}}
	document := &v2_3.Document{
		SPDXVersion: v2_3.Version, DataLicense: v2_3.DataLicense, SPDXIdentifier: "DOCUMENT",
		DocumentName: "platform-operator " + version, DocumentNamespace: "urn:sha256:" + digest,
		CreationInfo: &v2_3.CreationInfo{
			Created:  epoch,
			Creators: []common.Creator{{CreatorType: "Organization", Creator: "The Acme Platform Operator Authors"}},
		},
		Packages:      []*v2_3.Package{operator},
		Relationships: []*v2_3.Relationship{relation("DOCUMENT", common.TypeRelationshipDescribe, operator.PackageSPDXIdentifier)},
	}
	for _, part := range parts(info) {
		document.Packages = append(document.Packages, part)
		document.Relationships = append(document.Relationships,
			relation(operator.PackageSPDXIdentifier, common.TypeRelationshipDependsOn, part.PackageSPDXIdentifier))
	}
	var text bytes.Buffer
	if err := spdxjson.Write(document, &text, spdxjson.Indent(" ")); err != nil {
		return nil, fmt.Errorf("listing what %s is made of: %w", binary, err)
	}
	return text.Bytes(), nil
}

// parts are the standard library and the modules in a binary, in the order of their names.
func parts(info *debug.BuildInfo) []*v2_3.Package {
	list := []*v2_3.Package{newPackage("stdlib", strings.TrimPrefix(info.GoVersion, "go"), "BSD-3-Clause")}
	for _, module := range info.Deps {
		used := module
		if module.Replace != nil {
			used = module.Replace
		}
		list = append(list, newPackage(used.Path, used.Version, noAssertion))
	}
	slices.SortFunc(list[1:], func(a, b *v2_3.Package) int { return strings.Compare(a.PackageName, b.PackageName) })
	return list
}

func newPackage(name, version, license string) *v2_3.Package {
	return &v2_3.Package{
		PackageName: name, PackageVersion: version, PackageSPDXIdentifier: identifier(name),
		PackageDownloadLocation: noAssertion, PackageLicenseConcluded: license, PackageLicenseDeclared: license,
		PackageCopyrightText: noAssertion, PrimaryPackagePurpose: "LIBRARY",
		PackageExternalReferences: []*v2_3.PackageExternalReference{{
			Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL,
			Locator: "pkg:golang/" + name + "@" + version,
		}},
	}
}

// identifier makes a name of a package that SPDX accepts: letters, digits, dots and dashes. Modules whose names then are the
// same are told apart by a digest.
func identifier(name string) common.ElementID {
	plain := strings.Map(func(r rune) rune {
		if r == '.' || r == '-' || (r >= '0' && r <= '9') || (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z') {
			return r
		}
		return '-'
	}, name)
	sum := sha256.Sum256([]byte(name))
	return common.ElementID("Package-" + plain + "-" + hex.EncodeToString(sum[:4]))
}

func relation(from common.ElementID, kind string, to common.ElementID) *v2_3.Relationship {
	return &v2_3.Relationship{
		RefA: common.MakeDocElementID("", string(from)), RefB: common.MakeDocElementID("", string(to)), Relationship: kind,
	}
}
