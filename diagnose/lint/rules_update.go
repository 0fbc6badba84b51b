package lint

import (
	"fmt"
	"reflect"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/admission"
)

// updateRules compare a manifest with the object that the cluster has.
var updateRules = []Rule{
	{ID: "immutable-field", Severity: Error, Summary: "the manifest changes a field of an object of the cluster that the API server lets nobody change", update: func(c *checker, object, old metav1.Object) {
		known := map[string]bool{}
		for _, e := range admission.Validate(object, c.options()) {
			known[e.Error()] = true // the manifest is wrong by itself
		}
		for _, e := range admission.ValidateUpdate(object, old, c.options()) {
			if known[e.Error()] || e.Type != field.ErrorTypeInvalid && e.Type != field.ErrorTypeForbidden {
				continue
			}
			value := "the value that the cluster has"
			if e.Field == "spec.selector" { // which must match the template
				value += " and labels of the template that it selects"
			}
			path := e.Field
			if path == "volumeMode" { // the server's path of spec.volumeMode
				path = "spec." + path
			}
			c.report(path, value+", or a new object: kubectl delete with --cascade=orphan, then create", "the API server refuses the change of %s: %s", path, e.Detail)
		}
	}},
}

// eachUpdate calls f for each manifest that the cluster has already.
func (c *checker) eachUpdate(f func(name string, object, old metav1.Object)) {
	live := map[string]metav1.Object{}
	nameOf := func(o metav1.Object) string {
		kind := reflect.TypeOf(o).Elem().Name()
		switch kind {
		case "PriorityClass", "StorageClass", "RuntimeClass":
			return kind + " " + o.GetName()
		}
		return fmt.Sprintf("%s %s/%s", kind, namespace(o.GetNamespace()), o.GetName())
	}
	for _, o := range c.in.Live {
		live[nameOf(o)] = o
	}
	see := func(o metav1.Object) {
		if old := live[nameOf(o)]; old != nil {
			f(nameOf(o), applied(o, old), old)
		}
	}
	for _, w := range c.works {
		if w.kind != "Pod" {
			see(w.manifest)
		}
	}
	each(c.in.PriorityClasses, see)
	each(c.in.StorageClasses, see)
	each(c.in.RuntimeClasses, see)
	each(c.in.Claims, see)
}

// applied returns a claim as kubectl apply would send it: fields that the manifest leaves out stay as the cluster has them.
func applied(object, old metav1.Object) metav1.Object {
	o, is := object.(*v1.PersistentVolumeClaim)
	before, same := old.(*v1.PersistentVolumeClaim)
	if !is || !same {
		return object
	}
	o = o.DeepCopy()
	s, was := &o.Spec, before.Spec.DeepCopy()
	if s.VolumeName == "" {
		s.VolumeName = was.VolumeName
	}
	if s.StorageClassName == nil {
		s.StorageClassName = was.StorageClassName
	}
	if s.VolumeAttributesClassName == nil {
		s.VolumeAttributesClassName = was.VolumeAttributesClassName
	}
	if s.DataSource == nil {
		s.DataSource = was.DataSource
	}
	if s.DataSourceRef == nil {
		s.DataSourceRef = was.DataSourceRef
	}
	return o
}

// each calls f for the objects of a list that are not nil.
func each[T any, P interface {
	*T
	metav1.Object
}](list []P, f func(metav1.Object)) {
	for _, o := range list {
		if o != nil {
			f(o)
		}
	}
}
