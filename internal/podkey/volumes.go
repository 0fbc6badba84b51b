package podkey

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/key"
	"github.com/podberth/podberth/internal/podinfo"
)

// Volumes appends what package volumes reads: the volumes that the kubelet does not make. The key of a pod with a generic ephemeral volume
// also has its namespace, name and UID, because such a pod has a claim of its own.
func Volumes(dst []byte, pod *v1.Pod) []byte {
	some, own := false, false
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if podinfo.LocalVolume(&v.VolumeSource) {
			continue
		}
		some, dst = true, appendSource(key.Flag(dst, true), &v.VolumeSource)
		if v.Ephemeral != nil {
			own, dst = true, key.Text(dst, v.Name)
		}
	}
	dst = key.Flag(dst, false) // the end of the list
	if some {
		dst = key.Text(dst, pod.Namespace)
	}
	if own {
		dst = key.Text(key.Text(dst, pod.Name), pod.UID)
	}
	return dst
}

// appendSource appends every field of a source. The text of a source (String) would not do: it does not quote what users write.
func appendSource(dst []byte, v *v1.VolumeSource) []byte {
	n := v.Size()
	dst = slices.Grow(key.Len(dst, n), n)
	at := len(dst)
	_, _ = v.MarshalToSizedBuffer(dst[at : at+n]) // there is no error: the buffer has the size
	return dst[:at+n]
}
