package gen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// kinds gives the lists of a cluster with the type that YAML needs.
func (c *Cluster) kinds() []struct {
	apiVersion, kind string
	objects          []runtime.Object
} {
	type kind = struct {
		apiVersion, kind string
		objects          []runtime.Object
	}
	return []kind{
		{"v1", "Namespace", objects(c.Namespaces)}, {"v1", "Node", objects(c.Nodes)},
		{"v1", "Pod", slices.Concat(objects(c.Pods), objects(c.Pending), objects(c.Gated))},
		{"v1", "Service", objects(c.Services)}, {"v1", "ReplicationController", objects(c.ReplicationControllers)},
		{"apps/v1", "ReplicaSet", objects(c.ReplicaSets)}, {"apps/v1", "StatefulSet", objects(c.StatefulSets)},
		{"v1", "PersistentVolumeClaim", objects(c.Claims)}, {"v1", "PersistentVolume", objects(c.PersistentVolumes)},
		{"storage.k8s.io/v1", "StorageClass", objects(c.StorageClasses)}, {"storage.k8s.io/v1", "CSINode", objects(c.CSINodes)},
		{"storage.k8s.io/v1", "CSIDriver", objects(c.CSIDrivers)},
		{"storage.k8s.io/v1", "CSIStorageCapacity", objects(c.CSIStorageCapacities)},
		{"storage.k8s.io/v1", "VolumeAttachment", objects(c.VolumeAttachments)},
		{"policy/v1", "PodDisruptionBudget", objects(c.PodDisruptionBudgets)},
		{"scheduling.k8s.io/v1", "PriorityClass", objects(c.PriorityClasses)},
	}
}

func objects[T runtime.Object](list []T) []runtime.Object {
	out := make([]runtime.Object, len(list))
	for i := range list {
		out[i] = list[i]
	}
	return out
}

// YAML prints the cluster as documents that `podberth place -f` reads.
func (c *Cluster) YAML() []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "# seed %d\n", c.Seed)
	for _, k := range c.kinds() {
		for _, o := range k.objects {
			m, err := toMap(o)
			if err != nil {
				fmt.Fprintf(&out, "# %s: %v\n", k.kind, err)
				continue
			}
			m["apiVersion"], m["kind"] = k.apiVersion, k.kind
			text, err := yaml.Marshal(prune(m))
			if err != nil {
				fmt.Fprintf(&out, "# %s: %v\n", k.kind, err)
				continue
			}
			out.WriteString("---\n")
			out.Write(text)
		}
	}
	return out.Bytes()
}

func toMap(o runtime.Object) (map[string]any, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	m := map[string]any{}
	return m, json.Unmarshal(text, &m)
}

// prune drops what the API's types print for empty fields.
func prune(m map[string]any) map[string]any {
	delete(m, "nodeInfo")
	delete(m, "daemonEndpoints")
	for k, v := range m {
		switch v := v.(type) {
		case nil:
			delete(m, k)
		case map[string]any:
			if prune(v); len(v) == 0 && (k == "status" || k == "resources") {
				delete(m, k)
			}
		}
	}
	return m
}
