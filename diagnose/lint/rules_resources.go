package lint

import (
	"fmt"
	"math"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/resources"
)

// largestTimes returns how many of a workload's pods the largest node that the pod can reach holds.
func (c *checker) largestTimes(w *work) int {
	most := 0
	for _, n := range c.reachable(w) {
		most = max(most, times(w, n))
	}
	return most
}

// times returns how many of a workload's pods an empty node holds.
func times(w *work, n *v1.Node) int {
	out := int64(math.MaxInt32)
	if q, ok := n.Status.Allocatable[v1.ResourcePods]; ok {
		out = q.Value()
	}
	for name, q := range overhead.Requests(w.pod, overhead.Options{}) {
		if asks := q.MilliValue(); asks > 0 {
			has := n.Status.Allocatable[name]
			out = min(out, has.MilliValue()/asks)
		}
	}
	return int(out)
}

func (c *checker) each(w *work, f func(name v1.ResourceName, asks resource.Quantity, offers bool, largest resource.Quantity)) {
	requests := overhead.Requests(w.pod, overhead.Options{})
	for _, name := range sortedNames(requests) {
		q := requests[name]
		if q.Sign() <= 0 {
			continue
		}
		largest := c.reach(w).offers[name].largest
		f(name, q, largest.Sign() > 0, largest)
	}
}

// ofDevices reports whether a DeviceClass serves an extended resource.
func (c *checker) ofDevices(name v1.ResourceName) bool {
	return slices.ContainsFunc(c.in.Cluster.DeviceClasses, func(k *resourcev1.DeviceClass) bool {
		return string(name) == resources.DeviceClassPrefix+k.Name || k.Spec.ExtendedResourceName != nil && *k.Spec.ExtendedResourceName == string(name)
	})
}

// pods counts the pods of a workload.
func pods(w *work) string {
	if w.runs() {
		return amount(w.replicas, "pod asks", "pods at a time ask")
	}
	return amount(w.replicas, "replica asks", "replicas ask")
}

// from says which part of a request the runtime class adds.
func from(w *work, name v1.ResourceName) string {
	q, has := w.pod.Spec.Overhead[name]
	if !has || w.pod.Spec.RuntimeClassName == nil {
		return ""
	}
	return fmt.Sprintf(" (%s of them overhead of RuntimeClass %s)", q.String(), *w.pod.Spec.RuntimeClassName)
}

var resourceRules = []Rule{
	{ID: "request-too-large", Severity: Error, Cluster: true, Summary: "a pod asks for more than the largest node that it can use has", work: func(c *checker, w *work) {
		c.each(w, func(name v1.ResourceName, asks resource.Quantity, offers bool, largest resource.Quantity) {
			if offers && asks.Cmp(largest) > 0 {
				c.prove(w, w.path+".containers", c.atMost(w, name, largest), "the pod asks for %s %s%s, the largest node has %s", asks.String(), name, from(w, name), largest.String())
			}
		})
	}},
	{ID: "resource-unoffered", Severity: Error, Cluster: true, Summary: "no node that the pod can use offers a resource that it asks for", work: func(c *checker, w *work) {
		c.each(w, func(name v1.ResourceName, asks resource.Quantity, offers bool, _ resource.Quantity) {
			if offers || len(c.usable(w)) == 0 || c.ofDevices(name) {
				return
			}
			var names []string
			for _, n := range c.nodes {
				for r := range n.Status.Allocatable {
					names = append(names, string(r))
				}
			}
			c.prove(w, w.path+".containers", "mend the name, or install the device plugin", "no node offers %s%s", name, nearNames(string(name), names))
		})
	}},
	{ID: "requests-do-not-add-up", Severity: Error, Cluster: true, Summary: "the replicas together ask for more than all nodes that the pod can reach have", work: func(c *checker, w *work) {
		requests := overhead.Requests(w.pod, overhead.Options{})
		for _, name := range sortedNames(requests) {
			q := requests[name]
			sum := c.reach(w).offers[name].sum
			if asks := q.MilliValue() / 1000 * int64(max(w.replicas, 0)); sum > 0 && asks > sum && c.largestTimes(w) > 0 {
				fix := "fewer replicas, lower requests or more nodes"
				if strings.Contains(string(name), "/") && sum < int64(w.replicas) { // whole ones, and each replica wants one at least
					fix = "fewer replicas or more nodes"
				}
				if !c.takesTwin(w) {
					fix = strings.NewReplacer(", lower requests or more nodes", " or lower requests", " or more nodes", "").Replace(fix)
				}
				c.prove(w, w.path+".containers", fix, "%s for %s of %s%s, the nodes that they can use have %s", pods(w), whole(name, asks), name, from(w, name), whole(name, sum))
			}
		}
	}},
	{ID: "gpu-pool-closed", Severity: Error, Cluster: true, Summary: "every node that offers a resource is cordoned or has a taint that the pod does not tolerate", work: func(c *checker, w *work) {
		c.each(w, func(name v1.ResourceName, asks resource.Quantity, offers bool, _ resource.Quantity) {
			if !offers || len(c.reachable(w)) == 0 {
				return
			}
			var closed []*v1.Node
			for _, n := range c.usable(w) {
				if has := n.Status.Allocatable[name]; has.Sign() > 0 {
					if c.open(w.pod, n) {
						return
					}
					closed = append(closed, n)
				}
			}
			c.prove(w, w.path+".tolerations", c.opening(w, closed), "%s %s, and none takes the pod", amount(len(closed), "node offers", "nodes offer"), name)
		})
	}},
	{ID: "no-requests", Severity: Info, Summary: "containers ask for no cpu or no memory", work: func(c *checker, w *work) {
		if w.pod.Spec.Resources != nil && len(w.pod.Spec.Resources.Requests) > 0 {
			return
		}
		var names []string
		for _, k := range w.pod.Spec.Containers {
			for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
				if _, has := k.Resources.Requests[name]; !has {
					names = append(names, fmt.Sprintf("%s of %s", name, k.Name))
				}
			}
		}
		if len(names) > 0 {
			c.report(w.path+".containers", "write what the containers use", "nothing is asked for: %s; the scheduler counts nothing, and the pods are evicted first", strings.Join(names, ", "))
		}
	}},
	{ID: "host-port-replicas", Severity: Error, Cluster: true, Summary: "a host port, and more replicas than nodes", work: func(c *checker, w *work) {
		if path, port := hostPort(w); port > 0 {
			if n := len(c.reachable(w)); n > 0 && w.replicas > n {
				fix := "at most " + amount(n, "replica", "replicas") + ", or a DaemonSet"
				if !w.pod.Spec.HostNetwork {
					fix += ", or no hostPort"
				}
				c.prove(w, path, fix, "%d replicas hold host port %d, and the pod can reach %s", w.replicas, port, amount(n, "node", "nodes"))
			}
		}
	}},
	{ID: "host-port-rollout", Severity: Warning, Cluster: true, Summary: "a host port leaves no node for the new pod of a rollout", work: func(c *checker, w *work) {
		if path, port := hostPort(w); port > 0 {
			if n := len(c.reachable(w)); n > 0 && w.surge > 0 && w.replicas == n {
				c.report(path, "maxUnavailable 1", "%d replicas hold host port %d on all nodes, and a rollout must start a new pod before an old one stops", w.replicas, port)
			}
		}
	}},
	{ID: "claim-missing", Severity: Error, Cluster: true, Summary: "a pod uses a claim that does not exist", work: func(c *checker, w *work) {
		for i, v := range w.pod.Spec.Volumes {
			if v.PersistentVolumeClaim != nil && c.claim(w, v) == nil {
				c.prove(w, fmt.Sprintf("%s.volumes[%d]", w.path, i), "create the claim", "there is no claim %s", v.PersistentVolumeClaim.ClaimName)
			}
		}
	}},
	{ID: "claim-one-pod", Severity: Error, Cluster: true, Summary: "replicas share a claim that one pod alone may use", work: func(c *checker, w *work) {
		for i, v := range w.pod.Spec.Volumes {
			if k := c.claim(w, v); k != nil && w.replicas > 1 && hasMode(k, v1.ReadWriteOncePod) {
				c.prove(w, fmt.Sprintf("%s.volumes[%d]", w.path, i), "a claim for each replica (StatefulSet), or ReadWriteMany", "%d replicas use claim %s, which is ReadWriteOncePod", w.replicas, k.Name)
			}
		}
	}},
	{ID: "claim-one-node", Severity: Warning, Summary: "replicas share a claim that one node alone may use", work: func(c *checker, w *work) {
		for i, v := range w.pod.Spec.Volumes {
			if k := c.claim(w, v); k != nil && w.replicas > 1 && hasMode(k, v1.ReadWriteOnce) && !hasMode(k, v1.ReadWriteMany) {
				c.report(fmt.Sprintf("%s.volumes[%d]", w.path, i), "a claim for each replica (StatefulSet), or ReadWriteMany", "%d replicas use claim %s, which is ReadWriteOnce: those on other nodes do not start", w.replicas, k.Name)
			}
		}
	}},
}

// hostPort returns the first host port of a pod and its path; 0 when there is none.
func hostPort(w *work) (path string, port int32) {
	for i, k := range w.pod.Spec.Containers {
		for j, p := range k.Ports {
			if p.HostPort > 0 {
				return fmt.Sprintf("%s.containers[%d].ports[%d].hostPort", w.path, i, j), p.HostPort
			}
		}
	}
	return "", 0
}

// claim returns the claim of a volume among the manifests and in the cluster; nil when there is none.
func (c *checker) claim(w *work, v v1.Volume) *v1.PersistentVolumeClaim {
	if v.PersistentVolumeClaim == nil {
		return nil
	}
	list := c.in.Claims
	if c.in.Cluster != nil {
		list = append(list[:len(list):len(list)], c.in.Cluster.Claims...)
	}
	for _, k := range list {
		if k != nil && namespace(k.Namespace) == w.pod.Namespace && k.Name == v.PersistentVolumeClaim.ClaimName {
			return k
		}
	}
	return nil
}

func hasMode(k *v1.PersistentVolumeClaim, mode v1.PersistentVolumeAccessMode) bool {
	for _, m := range k.Spec.AccessModes {
		if m == mode {
			return true
		}
	}
	return false
}

// whole writes a number of cpus, bytes or other units as people do.
func whole(name v1.ResourceName, n int64) string {
	if name == v1.ResourceCPU {
		n = min(n, math.MaxInt64/1000) * 1000
	}
	return resources.Human(string(name), n)
}
