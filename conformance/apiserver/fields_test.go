package apiserver_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// podRoots are the fields of a pod that the tests change: the fields that scheduling reads.
var podRoots = []string{
	"metadata.labels", "spec.nodeSelector", "spec.affinity", "spec.tolerations", "spec.topologySpreadConstraints", "spec.schedulingGates",
	"spec.nodeName", "spec.preemptionPolicy", "spec.schedulerName", "spec.terminationGracePeriodSeconds", "spec.hostNetwork", "spec.overhead",
	"spec.containers[].resources.limits", "spec.containers[].resources.requests", "spec.containers[].ports",
	"spec.initContainers[].resources.limits", "spec.initContainers[].resources.requests", "spec.initContainers[].ports", "spec.initContainers[].restartPolicy",
	"spec.resources.limits", "spec.resources.requests",
}

// updateRoots are the fields of a stored pod that the tests change.
var updateRoots = []string{
	"metadata.labels", "spec.nodeSelector", "spec.affinity", "spec.tolerations", "spec.topologySpreadConstraints", "spec.schedulingGates",
	"spec.nodeName", "spec.hostNetwork", "spec.containers[].resources.requests", "spec.containers[].ports", "spec.resources.requests",
}

// outside are the fields of a pod's spec and of a container that the tests do not change, each with the reason.
var outside = map[string]string{
	"spec.volumes":                               "the volume plugins read names of claims, which the server takes as they are; the rest is about mounting",
	"spec.ephemeralContainers":                   "they ask for nothing, and no pod is created with one",
	"spec.restartPolicy":                         "the scheduler reads that of init containers only",
	"spec.activeDeadlineSeconds":                 "it ends a pod that runs",
	"spec.evictionResponders":                    "they answer a request to evict a pod that runs; the server drops them without the gate EvictionRequestAPI",
	"spec.dnsPolicy":                             "name resolution",
	"spec.dnsConfig":                             "name resolution",
	"spec.hostname":                              "name resolution",
	"spec.hostnameOverride":                      "name resolution",
	"spec.subdomain":                             "name resolution",
	"spec.setHostnameAsFQDN":                     "name resolution",
	"spec.hostAliases":                           "name resolution",
	"spec.serviceAccountName":                    "identity",
	"spec.serviceAccount":                        "identity",
	"spec.automountServiceAccountToken":          "identity",
	"spec.hostPID":                               "isolation",
	"spec.hostIPC":                               "isolation",
	"spec.hostUsers":                             "isolation; a pod in the host's network that must not be is found through spec.hostNetwork",
	"spec.shareProcessNamespace":                 "isolation",
	"spec.securityContext":                       "isolation",
	"spec.imagePullSecrets":                      "images",
	"spec.priorityClassName":                     "TestAdmission compares the admission plugin, which fails before any check",
	"spec.priority":                              "TestAdmission compares the admission plugin, which fails before any check",
	"spec.runtimeClassName":                      "TestAdmission compares the admission plugin, which fails before any check",
	"spec.readinessGates":                        "the kubelet's conditions",
	"spec.enableServiceLinks":                    "environment variables",
	"spec.os":                                    "the kubelet's admission reads it, and the scheduler does not",
	"spec.resourceClaims":                        "package devices checks claims when it compiles them",
	"spec.schedulingGroup":                       "a feature that is off by default",
	"spec.containers[].name":                     "no rule of scheduling reads names of containers",
	"spec.containers[].image":                    "any text is an image name to the score",
	"spec.containers[].command":                  "the process",
	"spec.containers[].args":                     "the process",
	"spec.containers[].workingDir":               "the process",
	"spec.containers[].env":                      "the process",
	"spec.containers[].envFrom":                  "the process",
	"spec.containers[].stdin":                    "the process",
	"spec.containers[].stdinOnce":                "the process",
	"spec.containers[].tty":                      "the process",
	"spec.containers[].volumeMounts":             "mounting",
	"spec.containers[].volumeDevices":            "mounting",
	"spec.containers[].livenessProbe":            "the kubelet's probes",
	"spec.containers[].readinessProbe":           "the kubelet's probes",
	"spec.containers[].startupProbe":             "the kubelet's probes",
	"spec.containers[].lifecycle":                "the kubelet's hooks",
	"spec.containers[].securityContext":          "isolation",
	"spec.containers[].imagePullPolicy":          "images",
	"spec.containers[].resizePolicy":             "what the kubelet does in a resize",
	"spec.containers[].restartPolicy":            "the scheduler reads that of init containers only",
	"spec.containers[].restartPolicyRules":       "the scheduler reads their presence only",
	"spec.containers[].terminationMessagePath":   "the process",
	"spec.containers[].terminationMessagePolicy": "the process",
}

// The tests change every field of a pod's spec and of a container, or name the reason why not.
func TestEveryField(t *testing.T) {
	seen := 0
	check := func(prefix string, of reflect.Type) {
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			path := prefix + name
			seen++
			changed := slices.ContainsFunc(podRoots, func(root string) bool {
				return root == path || strings.HasPrefix(root, path+".") || strings.HasPrefix(root, path+"[]")
			})
			if reason := outside[path]; changed == (reason != "") {
				t.Errorf("%s must be changed, or be outside for a reason: changed %v, reason %q", path, changed, reason)
			}
		}
	}
	check("spec.", reflect.TypeFor[v1.PodSpec]())
	check("spec.containers[].", reflect.TypeFor[v1.Container]())
	if seen < len(outside) {
		t.Errorf("%d fields, %d reasons", seen, len(outside))
	}
}
