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
	"path/filepath"
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

// bill lists what the operator's binary, and others beside it in the image, are made of, in the form of SPDX 2.3: the Go modules and the
// standard library that their build records name. Modules that are only needed to build or test are not in it.
func bill(version, binary string, others ...string) ([]byte, error) {
	info, operator, err := packageOf(binary, version)
	if err != nil {
		return nil, err
	}
	digest := operator.PackageChecksums[0].Value
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
	listed := map[string]bool{}
	addParts(document, listed, operator, parts(info))
	for _, other := range others {
		info, p, err := packageOf(other, version)
		if err != nil {
			return nil, err
		}
		document.Packages = append(document.Packages, p)
		document.Relationships = append(document.Relationships, relation("DOCUMENT", common.TypeRelationshipDescribe, p.PackageSPDXIdentifier))
		addParts(document, listed, p, parts(info))
	}
	var text bytes.Buffer
	if err := spdxjson.Write(document, &text, spdxjson.Indent(" ")); err != nil {
		return nil, fmt.Errorf("listing what %s is made of: %w", binary, err)
	}
	return text.Bytes(), nil
}

// packageOf describes a binary; one that is not the module's main program is named by its path.
func packageOf(binary, version string) (*debug.BuildInfo, *v2_3.Package, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, nil, fmt.Errorf("listing what %s is made of: %w", binary, err)
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		return nil, nil, fmt.Errorf("listing what %s is made of: %w", binary, err)
	}
	sum := sha256.Sum256(content)
	name := info.Main.Path
	if companion := "/" + filepath.Base(binary); slices.Contains(companions, companion) {
		name += "/cmd" + companion
	}
	p := newPackage(name, version, license)
	p.PackageSourceInfo = "built from the module " + info.Main.Path
	p.PackageChecksums = []common.Checksum{{Algorithm: common.SHA256, Value: hex.EncodeToString(sum[:])}}
	return info, p, nil
}

// addParts adds what a binary depends on; what two have is listed once.
func addParts(document *v2_3.Document, listed map[string]bool, of *v2_3.Package, list []*v2_3.Package) {
	for _, part := range list {
		if name := part.PackageName + "@" + part.PackageVersion; !listed[name] {
			listed[name] = true
			document.Packages = append(document.Packages, part)
		}
		document.Relationships = append(document.Relationships,
			relation(of.PackageSPDXIdentifier, common.TypeRelationshipDependsOn, part.PackageSPDXIdentifier))
	}
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
// same are distinguished by a digest.
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
