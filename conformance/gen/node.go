package gen

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const gpu = "example.com/gpu"

var imageSizes = []int64{10 << 20, 23 << 20, 24 << 20, 90 << 20, 250 << 20, 500 << 20, 999 << 20, 1000 << 20, 3000 << 20, 1}

func (g *generator) node(i int) *v1.Node {
	n := &v1.Node{ObjectMeta: g.meta("", fmt.Sprintf("node%d", i))}
	n.Labels = map[string]string{}
	if !g.one(15) {
		n.Labels[v1.LabelHostname] = n.Name
	} else if g.one(2) {
		n.Labels[v1.LabelHostname] = "node0"
	}
	if !g.one(8) {
		n.Labels[v1.LabelTopologyZone] = zones[min(g.Intn(9)/2, 3)]
	}
	if g.one(3) {
		n.Labels[v1.LabelTopologyRegion] = pick(g, []string{"r1", "r2"})
	}
	if g.one(12) {
		n.Labels[v1.LabelFailureDomainBetaZone] = pick(g, zones)
	}
	if g.one(2) {
		n.Labels["disk"] = pick(g, disks)
	}
	if g.one(2) {
		n.Labels["rack"] = pick(g, []string{"1", "2"})
	}
	if g.with(Taints) {
		g.taint(n)
	}
	list := v1.ResourceList{}
	set := func(name v1.ResourceName, values ...string) { list[name] = resource.MustParse(pick(g, values)) }
	set(v1.ResourceCPU, "1", "2", "4", "4500m", "64", "1500m", "0", "8", "3")
	set(v1.ResourceMemory, "1Gi", "2Gi", "4Gi", "4000M", "256Gi", "0", "1536Mi", "7Gi")
	set(v1.ResourcePods, "110", "110", "110", "110", "4", "3", "2", "1", "0")
	if g.one(2) {
		set(v1.ResourceEphemeralStorage, "0", "10Gi", "1Gi")
	}
	if g.with(OddResources) {
		set(gpu, "1", "2", "8", "0")
		for k := range pick(g, []int{0, 6, 15}) {
			set(device(k), "2", "2", "2", "2", "2", "2", "2", "1")
		}
	}
	if g.one(8) {
		set("hugepages-2Mi", "4Mi", "1Gi", "0")
	}
	for _, drop := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourcePods} {
		if g.one(60) {
			delete(list, drop)
		}
	}
	if g.shape.Crowded {
		set(v1.ResourceCPU, "1", "2", "3")
		set(v1.ResourceMemory, "2Gi", "4Gi")
	}
	if g.shape.Roomy {
		g.spacious(n, list)
	}
	n.Status.Capacity, n.Status.Allocatable = list.DeepCopy(), list
	if g.with(Images) {
		for range 1 + g.Intn(pick(g, []int{3, g.imageCount()})) {
			image := v1.ContainerImage{SizeBytes: g.imageSize(), Names: []string{g.imageName()}}
			if g.one(3) {
				image.Names = append(image.Names, "web@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")
			}
			if g.one(4) {
				image.Names = append(image.Names, g.imageName(), image.Names[0])
			}
			n.Status.Images = append(n.Status.Images, image)
		}
	}
	if g.with(Features) {
		n.Status.DeclaredFeatures = pick(g, [][]string{{"RestartAllContainersOnContainerExits"}, {"Other"},
			{"Other", "RestartAllContainersOnContainerExits"}, {"RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"}})
	}
	if g.one(30) {
		now := metav1.NewTime(Epoch)
		n.DeletionTimestamp = &now
		n.Finalizers = []string{"example.com/wait"}
	}
	return n
}

// device is the name of one of many resources.
func device(k int) v1.ResourceName { return v1.ResourceName(fmt.Sprintf("example.com/r%d", k)) }

func (g *generator) imageCount() int {
	if g.shape.Roomy {
		return 12
	}
	return 3
}

func (g *generator) imageSize() int64 {
	if g.shape.Roomy {
		return int64(1+g.Intn(3000)) << 20
	}
	return pick(g, imageSizes)
}

func (g *generator) imageName() string {
	return pick(g, []string{"web:1", "web:latest", "db:2", "registry.example.com/big:latest", "docker.io/library/one:1.0", "web"})
}

func (g *generator) taint(n *v1.Node) {
	if g.one(5) {
		n.Spec.Unschedulable = true
		if g.one(2) {
			n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule})
		}
	}
	seen := map[string]bool{}
	for _, t := range n.Spec.Taints {
		seen[t.Key+string(t.Effect)] = true
	}
	for range g.Intn(5) {
		t := v1.Taint{Key: pick(g, taintKeys), Value: pick(g, []string{"", "v", "w", "5"}), Effect: pick(g, effects)}
		if g.shape.Numeric {
			t.Value = pick(g, []string{"5", "4", "10", "7", "05", "v", ""})
		}
		if !seen[t.Key+string(t.Effect)] {
			seen[t.Key+string(t.Effect)] = true
			n.Spec.Taints = append(n.Spec.Taints, t)
		}
	}
}
