package lint

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/podberth/podberth/admission"
)

// asked is a claim that the pods of a workload need and that has no volume yet.
type asked struct {
	path string // of the claim's specification in the manifest, or of the volume that names a claim
	name string
	spec *v1.PersistentVolumeClaimSpec
}

// askedOf returns the claims without a volume that the pods of a workload need.
func (c *checker) askedOf(w *work) (out []asked) {
	if s, is := w.manifest.(*appsv1.StatefulSet); is {
		for i := range s.Spec.VolumeClaimTemplates {
			t := &s.Spec.VolumeClaimTemplates[i]
			out = append(out, asked{fmt.Sprintf("spec.volumeClaimTemplates[%d].spec", i), t.Name, &c.withClass(t).Spec})
		}
	}
	for i := range w.pod.Spec.Volumes {
		v := &w.pod.Spec.Volumes[i]
		path := fmt.Sprintf("%s.volumes[%d]", w.path, i)
		if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
			t := &v1.PersistentVolumeClaim{Spec: v.Ephemeral.VolumeClaimTemplate.Spec}
			out = append(out, asked{path + ".ephemeral.volumeClaimTemplate.spec", v.Name, &c.withClass(t).Spec})
		}
		if k := c.claim(w, *v); k != nil && k.Spec.VolumeName == "" {
			out = append(out, asked{path, k.Name, &c.withClass(k).Spec})
		}
	}
	return out
}

// withClass returns the claim with the default class of the cluster when it names none.
func (c *checker) withClass(claim *v1.PersistentVolumeClaim) *v1.PersistentVolumeClaim {
	return admission.WithDefaultClass(claim, c.in.Cluster.StorageClasses)
}

// class returns the StorageClass of a name, nil when there is none.
func (c *checker) class(name string) *storagev1.StorageClass {
	i := slices.IndexFunc(c.in.Cluster.StorageClasses, func(k *storagev1.StorageClass) bool { return k.Name == name })
	if i < 0 {
		return nil
	}
	return c.in.Cluster.StorageClasses[i]
}

// zonal are the provisioners whose volumes are in one zone.
var zonal = []string{
	"ebs.csi.aws.com", "kubernetes.io/aws-ebs", "pd.csi.storage.gke.io", "kubernetes.io/gce-pd", "disk.csi.azure.com", "kubernetes.io/azure-disk",
	"cinder.csi.openstack.org", "kubernetes.io/cinder",
}

func immediate(k *storagev1.StorageClass) bool {
	return k.VolumeBindingMode == nil || *k.VolumeBindingMode == storagev1.VolumeBindingImmediate
}

var volumeRules = []Rule{
	{ID: "class-missing", Severity: Error, Cluster: true, Summary: "a claim without a volume names a storage class that does not exist, or none where no class is the default", work: func(c *checker, w *work) {
		for _, a := range c.askedOf(w) {
			name := a.spec.StorageClassName
			switch {
			case name == nil && !c.anyVolume(""):
				c.prove(w, a.path, "name a class of the cluster", "claim %s names no StorageClass, and no class is the default", a.name)
			case name != nil && *name != "" && c.class(*name) == nil && !c.anyVolume(*name):
				var names []string
				for _, k := range c.in.Cluster.StorageClasses {
					names = append(names, k.Name)
				}
				c.prove(w, a.path, "mend the name, or create the class", "claim %s: there is no StorageClass %s%s", a.name, *name, nearNames(*name, names))
			}
		}
	}},
	{ID: "class-immediate", Severity: Warning, Cluster: true, Summary: "a claim of a class that binds at once and whose volumes are in one zone, on nodes of several zones", work: func(c *checker, w *work) {
		zones := len(c.valuesOf(v1.LabelTopologyZone))
		for _, a := range c.askedOf(w) {
			if a.spec.StorageClassName == nil {
				continue
			}
			if k := c.class(*a.spec.StorageClassName); k != nil && zones > 1 && immediate(k) && slices.Contains(zonal, k.Provisioner) {
				c.report(a.path, "a class with volumeBindingMode WaitForFirstConsumer", "class %s makes the volume of claim %s in some zone of %d before the pod has a node, and ties the pod to that zone", k.Name, a.name, zones)
			}
		}
	}},
	{ID: "node-name-claim", Severity: Error, Cluster: true, Summary: "spec.nodeName with a claim that waits for its first consumer: no scheduler ever binds it", work: func(c *checker, w *work) {
		for _, a := range c.askedOf(w) {
			if w.pod.Spec.NodeName == "" || a.spec.StorageClassName == nil {
				continue
			}
			if k := c.class(*a.spec.StorageClassName); k != nil && !immediate(k) {
				c.report(w.path+".nodeName", "node affinity on metadata.name in the place of nodeName", "claim %s waits for a scheduler that never sees the pod", a.name)
			}
		}
	}},
	{ID: "device-class-missing", Severity: Error, Cluster: true, Summary: "a claim of devices without its template, claim or device class", work: func(c *checker, w *work) {
		for i, e := range w.pod.Spec.ResourceClaims {
			path := fmt.Sprintf("%s.resourceClaims[%d]", w.path, i)
			if text := c.deviceTrouble(w, e); text != "" {
				c.prove(w, path, "mend the name, or create the object", "%s", text)
			}
		}
	}},
}

// anyVolume reports whether a free volume of the cluster has a class.
func (c *checker) anyVolume(class string) bool {
	return slices.ContainsFunc(c.in.Cluster.PersistentVolumes, func(v *v1.PersistentVolume) bool {
		return v.Spec.StorageClassName == class && v.Spec.ClaimRef == nil
	})
}

// deviceTrouble says what an entry of spec.resourceClaims names and the cluster lacks; "" when it lacks nothing.
func (c *checker) deviceTrouble(w *work, e v1.PodResourceClaim) string {
	ns := w.pod.Namespace
	var names, wanted []string
	kind, name := "ResourceClaim", e.ResourceClaimName
	if name == nil {
		kind, name = "ResourceClaimTemplate", e.ResourceClaimTemplateName
	}
	if name == nil {
		return ""
	}
	found := false
	if kind == "ResourceClaim" {
		for _, x := range c.in.Cluster.ResourceClaims {
			if x.Namespace == ns {
				if names = append(names, x.Name); x.Name == *name {
					found, wanted = true, deviceClasses(x.Spec.Devices.Requests)
				}
			}
		}
	} else {
		for _, x := range c.in.Cluster.ResourceClaimTemplates {
			if x.Namespace == ns {
				if names = append(names, x.Name); x.Name == *name {
					found, wanted = true, deviceClasses(x.Spec.Spec.Devices.Requests)
				}
			}
		}
	}
	if !found {
		return fmt.Sprintf("there is no %s %s%s", kind, *name, nearNames(*name, names))
	}
	names = nil
	for _, x := range c.in.Cluster.DeviceClasses {
		names = append(names, x.Name)
	}
	for _, k := range wanted {
		if !slices.Contains(names, k) {
			return fmt.Sprintf("%s %s wants DeviceClass %s, and there is none%s", kind, *name, k, nearNames(k, names))
		}
	}
	return ""
}

// deviceClasses returns the classes that every request wants. Of alternatives one is enough: they are left out.
func deviceClasses(requests []resourcev1.DeviceRequest) (out []string) {
	for _, r := range requests {
		if r.Exactly != nil {
			out = append(out, r.Exactly.DeviceClassName)
		}
	}
	return out
}
