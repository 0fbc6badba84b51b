package gen_test

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/features"

	"github.com/podberth/podberth/conformance/gen"
)

// has returns the question whether a pending pod is so.
func has(is func(*v1.Pod) bool) func(*gen.Cluster) bool {
	return func(c *gen.Cluster) bool { return slices.ContainsFunc(c.Pending, is) }
}

func mounts(volume func(*v1.Volume) bool) func(*gen.Cluster) bool {
	return has(func(p *v1.Pod) bool {
		return slices.ContainsFunc(p.Spec.Volumes, func(v v1.Volume) bool { return volume(&v) })
	})
}

// claims returns the question whether a pending pod mounts such a claim.
func claims(is func(*gen.Cluster, *v1.PersistentVolumeClaim) bool) func(*gen.Cluster) bool {
	return func(c *gen.Cluster) bool {
		return mounts(func(v *v1.Volume) bool {
			return v.PersistentVolumeClaim != nil && slices.ContainsFunc(c.Claims, func(x *v1.PersistentVolumeClaim) bool {
				return x.Name == v.PersistentVolumeClaim.ClaimName && is(c, x)
			})
		})(c)
	}
}

func tolerates(operator v1.TolerationOperator) func(*gen.Cluster) bool {
	return has(func(p *v1.Pod) bool {
		return slices.ContainsFunc(p.Spec.Tolerations, func(t v1.Toleration) bool { return t.Operator == operator })
	})
}

// asks returns the question whether a pending pod has a container that asks for more than n resources.
func asks(n int) func(*gen.Cluster) bool {
	return has(func(p *v1.Pod) bool {
		return slices.ContainsFunc(p.Spec.Containers, func(c v1.Container) bool { return len(c.Resources.Requests) > n })
	})
}

// images returns the question whether a node has two such images, or one such image.
func images(are func(i, k v1.ContainerImage) bool) func(*gen.Cluster) bool {
	return func(c *gen.Cluster) bool {
		return slices.ContainsFunc(c.Nodes, func(n *v1.Node) bool {
			return slices.ContainsFunc(n.Status.Images, func(i v1.ContainerImage) bool {
				return slices.ContainsFunc(n.Status.Images, func(k v1.ContainerImage) bool { return are(i, k) })
			})
		})
	}
}

func names(name *string) bool { return name != nil && *name != "" }

// TestFeatures counts what a generator may lose without a test of podberth noticing. Each feature is in at least so many of 400
// clusters of a shape.
func TestFeatures(t *testing.T) {
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.TaintTolerationComparisonOperators, true)
	type feature struct {
		name  string
		least int
		in    func(*gen.Cluster) bool
	}
	for _, f := range []struct {
		shape    gen.Shape
		features []feature
	}{
		{gen.Shape{Numeric: true, Focus: gen.Taints | gen.Spread}, []feature{
			{"Gt", 120, tolerates(v1.TolerationOpGt)},
			{"Lt", 120, tolerates(v1.TolerationOpLt)},
		}},
		{gen.Shape{Volumes: true, Nodes: 5, Running: 10, Focus: gen.Volumes}, []feature{
			{"inline azureDisk", 50, mounts(func(v *v1.Volume) bool { return v.AzureDisk != nil })},
			{"inline cinder", 50, mounts(func(v *v1.Volume) bool { return v.Cinder != nil })},
			{"inline portworx", 50, mounts(func(v *v1.Volume) bool { return v.PortworxVolume != nil })},
			{"claim with an attribute class", 15, claims(func(_ *gen.Cluster, x *v1.PersistentVolumeClaim) bool { return names(x.Spec.VolumeAttributesClassName) })},
			{"volume with an attribute class", 60, func(c *gen.Cluster) bool {
				return slices.ContainsFunc(c.PersistentVolumes, func(x *v1.PersistentVolume) bool { return names(x.Spec.VolumeAttributesClassName) })
			}},
			{"claim with several access modes", 20, claims(func(_ *gen.Cluster, x *v1.PersistentVolumeClaim) bool { return len(x.Spec.AccessModes) > 1 })},
			{"claim of a class without a binding mode", 8, claims(func(c *gen.Cluster, x *v1.PersistentVolumeClaim) bool {
				return slices.ContainsFunc(c.StorageClasses, func(s *storagev1.StorageClass) bool {
					return s.VolumeBindingMode == nil && names(x.Spec.StorageClassName) && s.Name == *x.Spec.StorageClassName
				})
			})},
		}},
		{gen.Shape{Focus: gen.Images}, []feature{
			{"an image with a name twice", 120, images(func(i, _ v1.ContainerImage) bool {
				return len(slices.Compact(slices.Sorted(slices.Values(i.Names)))) < len(i.Names)
			})},
			{"two images of one name", 80, images(func(i, k v1.ContainerImage) bool { return k.Names[0] == i.Names[0] && k.SizeBytes != i.SizeBytes })},
		}},
		{gen.Shape{Focus: gen.OddResources}, []feature{
			{"more than 5 resources", 120, asks(5)},
			{"more than 13 resources", 30, asks(13)},
		}},
	} {
		const clusters = 400
		counts := make([]int, len(f.features))
		for seed := range int64(clusters) {
			c := gen.Of(seed, f.shape)
			for k := range f.features {
				if f.features[k].in(c) {
					counts[k]++
				}
			}
		}
		for k, x := range f.features {
			t.Logf("%s: in %d of %d clusters", x.name, counts[k], clusters)
			if counts[k] < x.least {
				t.Errorf("%s: in %d of %d clusters, want %d: the generator has lost it", x.name, counts[k], clusters, x.least)
			}
		}
	}
}
