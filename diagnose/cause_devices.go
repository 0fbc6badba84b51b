package diagnose

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/diagnose/near"
)

// deviceObjects returns the cause of a pod that names no claim, or whose claim, template or device class does not exist; nil when all exist.
func (x *sought) deviceObjects() *Cause {
	for k, r := range x.pod.Spec.ResourceClaims {
		field := fmt.Sprintf("spec.resourceClaims[%d]", k)
		name := r.ResourceClaimName
		if t := r.ResourceClaimTemplateName; t != nil {
			if _, ok := cluster.List[*resourcev1.ResourceClaimTemplate](x.c).Get(x.pod.Namespace, *t); !ok {
				return absent(x, field+".resourceClaimTemplateName", "ResourceClaimTemplate", x.pod.Namespace, *t, cluster.List[*resourcev1.ResourceClaimTemplate](x.c).In(x.pod.Namespace))
			}
			at := slices.IndexFunc(x.pod.Status.ResourceClaimStatuses, func(s v1.PodResourceClaimStatus) bool { return s.Name == r.Name })
			if at < 0 {
				return &Cause{Type: causeDevices, Object: "ResourceClaimTemplate " + x.pod.Namespace + "/" + *t, Field: "spec",
					Text: fmt.Sprintf("its claim of template %s is not made yet: a controller makes it", *t)}
			}
			if name = x.pod.Status.ResourceClaimStatuses[at].ResourceClaimName; name == nil {
				continue // the controller says that none is needed
			}
		}
		if name == nil {
			out := &Cause{Type: causeDevices, Field: field, Text: fmt.Sprintf("%s (%s) has neither resourceClaimName nor resourceClaimTemplateName", field, r.Name)}
			if kind, meant, _ := meantClaim(x.c, x.pod, k); kind != "" {
				out.Wanted = meant
				out.Text += fmt.Sprintf("; there is a %s %s", kind, r.Name)
			}
			return out
		}
		claim, ok := cluster.List[*resourcev1.ResourceClaim](x.c).Get(x.pod.Namespace, *name)
		if !ok {
			return absent(x, field+".resourceClaimName", "ResourceClaim", x.pod.Namespace, *name, cluster.List[*resourcev1.ResourceClaim](x.c).In(x.pod.Namespace))
		}
		for at, request := range claim.Spec.Devices.Requests {
			path := fmt.Sprintf("spec.devices.requests[%d].", at)
			if e := request.Exactly; e != nil {
				if c := x.deviceClass(claim, path+"exactly", e.DeviceClassName); c != nil {
					return c
				}
			}
			for sub, e := range request.FirstAvailable {
				if c := x.deviceClass(claim, fmt.Sprintf("%sfirstAvailable[%d]", path, sub), e.DeviceClassName); c != nil {
					return c
				}
			}
		}
	}
	return nil
}

// deviceClass returns the cause of a device class that a claim names and that does not exist.
func (x *sought) deviceClass(claim *resourcev1.ResourceClaim, path, name string) *Cause {
	if _, ok := cluster.List[*resourcev1.DeviceClass](x.c).Get("", name); ok {
		return nil
	}
	out := absent(x, path+".deviceClassName", "DeviceClass", "", name, cluster.List[*resourcev1.DeviceClass](x.c).All())
	out.Object = "ResourceClaim " + claim.Namespace + "/" + claim.Name
	out.Text = fmt.Sprintf("claim %s: %s", claim.Name, out.Text)
	return out
}

// absent returns the cause of an object that a field names and that does not exist. Names that look alike stand beside it, or else the
// names that exist.
func absent[T metav1.Object](x *sought, field, kind, namespace, name string, list func(yield func(T) bool)) *Cause {
	out := &Cause{Type: causeDevices, Field: field, Wanted: name, Text: fmt.Sprintf("there is no %s %s", kind, name)}
	if namespace != "" {
		out.Text += " in " + namespace
	}
	var names []string
	for o := range list {
		names = append(names, o.GetName())
	}
	slices.Sort(names)
	if meant, ok := near.Meant(name, names); ok {
		out.Found = meant
		out.Text += "; near: " + meant
	} else if len(names) > 0 {
		out.Found = few(names)
		out.Text += " (" + out.Found + " " + verb(len(names), "exists", "exist") + ")"
	}
	return out
}
