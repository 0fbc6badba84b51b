package taints

import (
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/eviction/devicetaint"
	"github.com/podberth/podberth/eviction/taint"
	"github.com/podberth/podberth/tools/dump"
)

// byDevices returns the pods that taints of devices delete.
func byDevices(o *dump.Objects, pods []*v1.Pod, start time.Time) (out []taint.Deletion) {
	claims := map[types.NamespacedName]*resourcev1.ResourceClaim{}
	for _, c := range o.ResourceClaims {
		claims[types.NamespacedName{Namespace: c.Namespace, Name: c.Name}] = c
	}
	claim := func(namespace, name string) *resourcev1.ResourceClaim {
		return claims[types.NamespacedName{Namespace: namespace, Name: name}]
	}
	taints := devicetaint.New(o.ResourceSlices, o.DeviceTaintRules, start)
	for _, p := range pods {
		if e, ok := taints.Eviction(p, claim); ok {
			out = append(out, taint.Deletion{Pod: types.NamespacedName{Namespace: p.Namespace, Name: p.Name}, At: e.At, Cause: e.String()})
		}
	}
	return out
}
