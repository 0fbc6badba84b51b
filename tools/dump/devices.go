package dump

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/cluster"
)

// WithoutDevices adds a warning for each pod that asks for devices, for programs that do not consider them: by
// resourceClaims, or by an extended resource that a DeviceClass provides.
func (o *Objects) WithoutDevices() {
	classes := map[v1.ResourceName]string{}
	for _, c := range o.DeviceClasses {
		classes[v1.ResourceName(resourcev1.ResourceDeviceClassPrefix+c.Name)] = c.Name
		if r := c.Spec.ExtendedResourceName; r != nil {
			classes[v1.ResourceName(*r)] = c.Name
		}
	}
	for _, p := range o.Pods {
		if cluster.Finished(p) {
			continue
		}
		if len(p.Spec.ResourceClaims) > 0 {
			o.Warnings.Group("%d pods have resourceClaims, which are not considered", fmt.Sprintf("pod %s has resourceClaims, which are not considered", key(p)))
		}
		for _, containers := range [][]v1.Container{p.Spec.InitContainers, p.Spec.Containers} {
			for i := range containers {
				for r := range containers[i].Resources.Requests {
					if class, ok := classes[r]; ok {
						o.Warnings.Group(fmt.Sprintf("%%d pods ask for %s, and DeviceClass %s, which provides it, is not considered", escape(string(r)), escape(class)),
							fmt.Sprintf("pod %s asks for %s, and DeviceClass %s, which provides it, is not considered", key(p), r, class))
					}
				}
			}
		}
	}
}
