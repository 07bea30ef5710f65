// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package names

import "strings"

const databasesPrefix = "databases.acme.com/"

const (
	// LabelDatabase is on the pods of a Database, with DatabaseName of it; its Services and policies select by it.
	LabelDatabase = databasesPrefix + "database"
	// LabelGeneration is on the pods of a Database, too: the generation of the data that they serve.
	LabelGeneration = databasesPrefix + "generation"
	// LabelDataUID on a claim is the UID of the Database that it was created or adopted for.
	LabelDataUID = databasesPrefix + "database-uid"
	// FinalizerData keeps the claim of a Database until the operator has secured its data.
	FinalizerData = databasesPrefix + "data"
	// AnnotationRotate on a Database requests a new password: its value names the request.
	AnnotationRotate = databasesPrefix + "rotate"
	// AnnotationAdoptClaim on a Database has the name of the volume whose data it is to use, though somebody else has created the claim.
	AnnotationAdoptClaim = databasesPrefix + "adopt-claim"
	// AnnotationVolumeOf on a PersistentVolume is the OwnerMark of the Database whose data it has. No tenant can write it.
	AnnotationVolumeOf = databasesPrefix + "volume-of"
	// AnnotationReclaimPolicy on a PersistentVolume is its reclaim policy before the operator set it to Retain.
	AnnotationReclaimPolicy = databasesPrefix + "reclaim-policy"
	// AnnotationServer on a claim and its volume is the type and the version of the server whose data they have, as "postgres 18".
	AnnotationServer = databasesPrefix + "server"
	// AnnotationProtocol on a pod template is the version of the protocol between operator and agent.
	AnnotationProtocol = databasesPrefix + "agent-protocol"
)

// maxDatabase is how long the names of the children of a Database begin at most: names of pods, and the labels that
// Kubernetes derives from them, have to be labels, too.
const maxDatabase = 40

// DatabaseName returns what the names of the children of a Database begin with: its name, or one that is cut or replaced, with a
// hash, if that is too long or not the name of a Service. Different Databases never share one.
func DatabaseName(name string) string {
	label := name
	if name[0] >= '0' && name[0] <= '9' { // the names of Services begin with a letter
		label = "d-" + name
	}
	if label == name && len(name) <= maxDatabase && !strings.Contains(name, ".") && !IsDigestedTail(name) {
		return name
	}
	return cut(label, name, maxDatabase)
}

// DatabaseHost returns the host at which the server of a Database is reached within the cluster.
func DatabaseHost(namespace, name string) string {
	return DatabaseName(name) + "." + namespace + ".svc"
}

// IsDigestedTail reports whether a name ends as one that was cut does. Such a name is cut itself, so that it is no other one's.
func IsDigestedTail(name string) bool {
	i := strings.LastIndexByte(name, '-')
	return i >= 0 && len(name)-i-1 == DigestLength && strings.Trim(name[i+1:], "0123456789abcdef") == ""
}
