package gen

import (
	"fmt"
	"maps"
	"math/rand"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Team gives the first pending pod of a cluster an owner, and the owner at most three pods that run and two more that wait. Some running pods
// of a Deployment have an older revision. It returns the kind of the owner, "" for a pod that stays bare, and "" for a cluster without
// pending pods.
func Team(c *Cluster, seed int64) (kind string) {
	if len(c.Pending) == 0 {
		return ""
	}
	r := rand.New(rand.NewSource(seed))
	kinds := []string{"Deployment", "Deployment", "StatefulSet", "Job", "DaemonSet", "CronJob", ""}
	kind = kinds[r.Intn(len(kinds))]
	first := c.Pending[0]
	first.Status.NominatedNodeName = ""
	if kind == "" {
		first.OwnerReferences = nil
		return kind
	}
	own := func(p *v1.Pod, name, revision string) {
		p.Name, p.UID = name, types.UID(p.Namespace+"/"+name)
		api, by, controller := "apps/v1", "own", kind
		switch kind {
		case "Deployment":
			controller, by = "ReplicaSet", "own-"+revision
			p.Labels = maps.Clone(p.Labels)
			if p.Labels == nil {
				p.Labels = map[string]string{}
			}
			p.Labels["pod-template-hash"] = revision
		case "Job", "CronJob":
			api, controller = "batch/v1", "Job"
		}
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: api, Kind: controller, Name: by, UID: types.UID(by), Controller: new(true)}}
	}
	for k := range r.Intn(4) * min(1, len(c.Nodes)) {
		p := first.DeepCopy()
		revision := "b"
		if r.Intn(3) == 0 {
			revision = "a"
		}
		own(p, fmt.Sprintf("own-%d", k), revision)
		p.Spec.NodeName = c.Nodes[r.Intn(len(c.Nodes))].Name
		if !sharesPort(c, p) {
			c.Pods = append(c.Pods, p)
		}
	}
	for k := range r.Intn(3) {
		p := first.DeepCopy()
		own(p, fmt.Sprintf("own-%d", 4+k), "b")
		c.Pending = append(c.Pending, p)
	}
	own(first, "own-7", "b")
	r.Shuffle(len(c.Pending), func(i, j int) { c.Pending[i], c.Pending[j] = c.Pending[j], c.Pending[i] })
	return kind
}

// sharesPort reports whether another pod of the node has a host port of a pod. Of a node with two such pods kube-scheduler forgets the port
// when one of them leaves.
func sharesPort(c *Cluster, p *v1.Pod) bool {
	ports := func(p *v1.Pod) map[int32]bool {
		out := map[int32]bool{}
		for _, list := range [][]v1.Container{p.Spec.InitContainers, p.Spec.Containers} {
			for _, x := range list {
				for _, port := range x.Ports {
					if port.HostPort != 0 {
						out[port.HostPort] = true
					}
				}
			}
		}
		return out
	}
	wanted := ports(p)
	for _, x := range c.Pods {
		if x.Spec.NodeName == p.Spec.NodeName {
			for port := range ports(x) {
				if wanted[port] {
					return true
				}
			}
		}
	}
	return false
}
