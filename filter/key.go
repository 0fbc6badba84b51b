package filter

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/key"
	"github.com/podberth/podberth/overhead"
)

// AppendNodeNameKey appends everything that NodeName reads of an incoming pod: spec.nodeName.
func AppendNodeNameKey(dst []byte, pod *v1.Pod) []byte { return key.Text(dst, pod.Spec.NodeName) }

// AppendPortsKey appends everything that NodePorts reads of an incoming pod: the host ports of containers and of init
// containers that keep running.
func AppendPortsKey(dst []byte, pod *v1.Pod) []byte {
	want := appendHostPorts(nil, pod)
	dst = key.Len(dst, len(want))
	for _, p := range want {
		dst = key.Text(key.Text(key.Int(dst, int64(p.port)), p.protocol), p.ip)
	}
	return dst
}

// AppendFeaturesKey appends everything that NodeDeclaredFeatures reads of an incoming pod: the features that the pod needs
// (RequiredFeatures). A nil pod needs none.
func AppendFeaturesKey(dst []byte, pod *v1.Pod) []byte { return key.Texts(dst, RequiredFeatures(pod)) }

// AppendClaimsKey appends everything that DynamicResources reads of an incoming pod: the names of its resource claims, and
// the resources that it asks for, because a device class may provide a resource.
func AppendClaimsKey(dst []byte, pod *v1.Pod) []byte {
	dst = key.Len(dst, len(pod.Spec.ResourceClaims))
	for i := range pod.Spec.ResourceClaims {
		dst = key.Text(dst, pod.Spec.ResourceClaims[i].Name)
	}
	return overhead.AppendKey(dst, pod)
}
