package volumes

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/key"
)

// Ignores reports whether the plugins of this package leave the pod out in every cluster: the pod has no volumes other than
// those that the kubelet makes on the node (configMap, secret, projected, downwardAPI, emptyDir, hostPath).
func Ignores(pod *v1.Pod) bool {
	for i := range pod.Spec.Volumes {
		if !local(&pod.Spec.Volumes[i].VolumeSource) {
			return false
		}
	}
	return true
}

func local(v *v1.VolumeSource) bool {
	return v.EmptyDir != nil || v.ConfigMap != nil || v.Secret != nil || v.Projected != nil || v.DownwardAPI != nil || v.HostPath != nil
}

// appendSource appends every field of a source. The text of a source (String) would not do: it does not quote what users write.
func appendSource(dst []byte, v *v1.VolumeSource) []byte {
	n := v.Size()
	dst = slices.Grow(key.Len(dst, n), n)
	at := len(dst)
	_, _ = v.MarshalToSizedBuffer(dst[at : at+n]) // there is no error: the buffer has the size
	return dst[:at+n]
}

// AppendKey appends everything that the plugins of this package read of an incoming pod: its volumes without those that the
// kubelet makes ([Ignores]). The key of a pod with a generic ephemeral volume also has its namespace, name and UID, because such
// a pod has a claim of its own. Pods with equal keys have equal verdicts.
func AppendKey(dst []byte, pod *v1.Pod) []byte {
	own := false
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if local(&v.VolumeSource) {
			continue
		}
		dst = appendSource(key.Flag(dst, true), &v.VolumeSource)
		if v.Ephemeral != nil {
			own, dst = true, key.Text(dst, v.Name)
		}
	}
	dst = key.Flag(dst, false) // the end of the list
	if !Ignores(pod) {
		dst = key.Text(dst, pod.Namespace)
	}
	if own {
		dst = key.Text(key.Text(dst, pod.Name), pod.UID)
	}
	return dst
}
