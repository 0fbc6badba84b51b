package filter

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/key"
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
// ([RequiredFeatures]). A nil pod needs none.
func AppendFeaturesKey(dst []byte, pod *v1.Pod) []byte { return key.Texts(dst, RequiredFeatures(pod)) }
