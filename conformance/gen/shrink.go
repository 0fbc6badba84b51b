package gen

import (
	"encoding/json"
	"slices"
	"sort"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// Shrink returns a smaller cluster for which fails is still true: whole objects are dropped first, then the fields of nodes
// and pods, as long as the API server would take what is left. c itself is not changed. fails is called a few hundred times.
func Shrink(c *Cluster, fails func(*Cluster) bool) *Cluster {
	best := c
	try := func(candidate *Cluster) bool {
		if fails(candidate) {
			best = candidate
			return true
		}
		return false
	}
	for changed := true; changed; {
		changed = false
		for _, l := range lists {
			for i := l.count(best) - 1; i >= 0; i-- {
				if i < l.count(best) && try(l.without(best, i)) {
					changed = true
				}
			}
		}
	}
	budget := 1500
	for i := range best.Pending {
		best = fields(best, &budget, fails, func(c *Cluster) **v1.Pod { return &c.Pending[i] }, podValid)
	}
	for i := range best.Pods {
		best = fields(best, &budget, fails, func(c *Cluster) **v1.Pod { return &c.Pods[i] }, podValid)
	}
	for i := range best.Nodes {
		best = fields(best, &budget, fails, func(c *Cluster) **v1.Node { return &c.Nodes[i] }, func(n *v1.Node) bool { return CheckNode(n) == nil })
	}
	return best
}

func podValid(p *v1.Pod) bool {
	q := p.DeepCopy()
	q.Spec.NodeName = ""
	_, err := Admit(q)
	return err == nil && p.UID != "" && p.Spec.Priority != nil
}

// copyLists returns a cluster with lists of its own.
func (c *Cluster) copyLists() *Cluster {
	d := *c
	d.Nodes, d.Pods, d.Pending, d.Gated = slices.Clone(c.Nodes), slices.Clone(c.Pods), slices.Clone(c.Pending), slices.Clone(c.Gated)
	return &d
}

// shrinkable is a list of which elements can be dropped.
type shrinkable struct {
	count   func(*Cluster) int
	without func(c *Cluster, i int) *Cluster
}

func droppable[T any](list func(*Cluster) *[]T) shrinkable {
	return shrinkable{
		func(c *Cluster) int { return len(*list(c)) },
		func(c *Cluster, i int) *Cluster {
			d := c.copyLists()
			l := list(d)
			*l = slices.Delete(slices.Clone(*l), i, i+1)
			return d
		},
	}
}

var lists = []shrinkable{
	droppable(func(c *Cluster) *[]*v1.Pod { return &c.Pending }),
	droppable(func(c *Cluster) *[]*v1.Pod { return &c.Gated }),
	droppable(func(c *Cluster) *[]*v1.Pod { return &c.Pods }),
	{func(c *Cluster) int { return len(c.Nodes) }, withoutNode},
	droppable(func(c *Cluster) *[]*v1.Service { return &c.Services }),
	droppable(func(c *Cluster) *[]*v1.ReplicationController { return &c.ReplicationControllers }),
	droppable(func(c *Cluster) *[]*appsv1.ReplicaSet { return &c.ReplicaSets }),
	droppable(func(c *Cluster) *[]*appsv1.StatefulSet { return &c.StatefulSets }),
	droppable(func(c *Cluster) *[]*policyv1.PodDisruptionBudget { return &c.PodDisruptionBudgets }),
	droppable(func(c *Cluster) *[]*v1.Namespace { return &c.Namespaces }),
	droppable(func(c *Cluster) *[]*v1.PersistentVolumeClaim { return &c.Claims }),
	droppable(func(c *Cluster) *[]*v1.PersistentVolume { return &c.PersistentVolumes }),
	droppable(func(c *Cluster) *[]*storagev1.StorageClass { return &c.StorageClasses }),
	droppable(func(c *Cluster) *[]*storagev1.CSINode { return &c.CSINodes }),
	droppable(func(c *Cluster) *[]*storagev1.CSIDriver { return &c.CSIDrivers }),
	droppable(func(c *Cluster) *[]*storagev1.CSIStorageCapacity { return &c.CSIStorageCapacities }),
	droppable(func(c *Cluster) *[]*storagev1.VolumeAttachment { return &c.VolumeAttachments }),
}

// withoutNode drops a node and its pods.
func withoutNode(c *Cluster, i int) *Cluster {
	d := c.copyLists()
	name := d.Nodes[i].Name
	d.Nodes = slices.Delete(d.Nodes, i, i+1)
	d.Pods = slices.DeleteFunc(d.Pods, func(p *v1.Pod) bool { return p.Spec.NodeName == name })
	return d
}

// fields tries to delete every field and list element of one object, from the outside in.
func fields[T any](c *Cluster, budget *int, fails func(*Cluster) bool, at func(*Cluster) **T, valid func(*T) bool) *Cluster {
	text, err := json.Marshal(*at(c))
	if err != nil {
		return c
	}
	root := map[string]any{}
	if json.Unmarshal(text, &root) != nil {
		return c
	}
	try := func() bool {
		if *budget <= 0 {
			return false
		}
		*budget--
		text, err := json.Marshal(root)
		if err != nil {
			return false
		}
		obj := new(T)
		if json.Unmarshal(text, obj) != nil || !valid(obj) {
			return false
		}
		d := c.copyLists()
		*at(d) = obj
		if !fails(d) {
			return false
		}
		c = d
		return true
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			keys := make([]string, 0, len(v))
			for k := range v {
				keys = append(keys, k)
			}
			sort.Strings(keys)
			for _, k := range keys {
				old := v[k]
				delete(v, k)
				if try() {
					continue
				}
				v[k] = old
				if list, ok := old.([]any); ok {
					for i := len(list) - 1; i >= 0; i-- {
						shorter := slices.Delete(slices.Clone(list), i, i+1)
						v[k] = shorter
						if try() {
							list = shorter
						}
						v[k] = list
					}
					for _, e := range list {
						walk(e)
					}
					continue
				}
				walk(old)
			}
		}
	}
	walk(root)
	return c
}
