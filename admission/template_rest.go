package admission

import (
	"fmt"
	"reflect"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// restOf returns what fixedTemplate leaves out of a template: what scheduling does not read. What has its default is left out, because a
// manifest does not have it. The metadata of an idle Job may change.
func restOf(t *v1.PodTemplateSpec, idle bool) *v1.PodTemplateSpec {
	out := t.DeepCopy()
	out.Labels = nil
	if idle {
		out = &v1.PodTemplateSpec{Spec: out.Spec}
	}
	s := &out.Spec
	s.NodeName, s.SchedulerName, s.HostNetwork, s.TopologySpreadConstraints, s.SchedulingGroup = "", "", false, nil, nil
	s.Priority, s.PriorityClassName, s.PreemptionPolicy, s.RuntimeClassName = nil, "", nil, nil
	s.Overhead, s.Resources, s.ResourceClaims = nil, nil, nil
	s.NodeSelector, s.Affinity, s.Tolerations, s.SchedulingGates = nil, nil, nil, nil
	if s.ServiceAccountName == "" {
		s.ServiceAccountName = s.DeprecatedServiceAccount
	}
	s.DeprecatedServiceAccount = ""
	for _, list := range [][]v1.Container{s.Containers, s.InitContainers} {
		for i := range list {
			c := &list[i]
			c.Resources, c.Ports, c.RestartPolicy = v1.ResourceRequirements{}, nil, nil
			if c.ImagePullPolicy == pullPolicy(c.Image) {
				c.ImagePullPolicy = ""
			}
		}
	}
	if reflect.DeepEqual(s.SecurityContext, &v1.PodSecurityContext{}) {
		s.SecurityContext = nil
	}
	withoutDefaults(reflect.ValueOf(s).Elem(), "")
	return out
}

// pullPolicy returns the policy of a container that has none.
func pullPolicy(image string) v1.PullPolicy {
	name := image[strings.LastIndex(image, "/")+1:]
	if tag := name[strings.LastIndex(name, ":")+1:]; !strings.Contains(name, "@") && (!strings.Contains(name, ":") || tag == "latest") {
		return v1.PullAlways
	}
	return v1.PullIfNotPresent
}

// defaults are the values that the API server gives fields of a pod's specification, by their names.
var defaults = map[string]string{
	"dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": "30", "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
	"timeoutSeconds": "1", "periodSeconds": "10", "successThreshold": "1", "failureThreshold": "3", "scheme": "HTTP", "protocol": "TCP",
	"defaultMode": "420", "apiVersion": "v1", "volumeMode": "Filesystem", "type": "",
}

// withoutDefaults takes away the values of a specification that are the defaults of their fields.
func withoutDefaults(v reflect.Value, name string) {
	usual, has := defaults[name]
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		if has && fmt.Sprint(v.Elem()) == usual {
			v.SetZero()
			return
		}
		withoutDefaults(v.Elem(), "")
	case reflect.Slice:
		for i := range v.Len() {
			withoutDefaults(v.Index(i), "")
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() {
				inner, _, _ := strings.Cut(field.Tag.Get("json"), ",")
				withoutDefaults(v.Field(i), inner)
			}
		}
	default:
		if has && v.CanSet() && fmt.Sprint(v) == usual {
			v.SetZero()
		}
	}
}
