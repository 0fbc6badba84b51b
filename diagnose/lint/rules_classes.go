package lint

import (
	"slices"
	"strings"
	"time"

	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/admission"
)

// classRules are about the classes that every pod and claim gets that names none.
var classRules = []Rule{
	{ID: "priority-default-second", Severity: Error, Summary: "a second PriorityClass with globalDefault, which the API server refuses", whole: func(c *checker) {
		taken := c.priorityClassesBefore()
		for _, k := range c.in.PriorityClasses {
			if k == nil {
				continue
			}
			if err := admission.AdmitPriorityClass(k, taken); err != nil {
				c.object = "PriorityClass " + k.Name
				c.report("globalDefault", "globalDefault in one class alone", "the API server refuses it: %s", words(err))
				continue
			}
			taken = append(slices.DeleteFunc(taken, func(o *schedulingv1.PriorityClass) bool { return o.Name == k.Name }), k)
		}
	}},
	{ID: "storage-default-second", Severity: Info, Summary: "several storage classes are the default: a claim without a class gets the newest", whole: func(c *checker) {
		classes := c.storageClasses()
		isDefault := func(k *storagev1.StorageClass) bool {
			return admission.DefaultStorageClass([]*storagev1.StorageClass{k}) != nil
		}
		var others []string
		last := ""
		for _, k := range c.in.StorageClasses {
			if isDefault(k) {
				last = k.Name
			}
		}
		for _, k := range classes {
			if isDefault(k) && k.Name != last {
				others = append(others, k.Name)
			}
		}
		if last == "" || len(others) == 0 {
			return
		}
		c.object = "StorageClass " + last
		c.report("metadata.annotations", "the annotation in one class alone", "also the default: %s; a claim without a class gets the newest, which is %s",
			strings.Join(others, ", "), admission.DefaultStorageClass(classes).Name)
	}},
}

// priorityClassesBefore returns the PriorityClasses that the cluster has before the manifests are applied.
func (c *checker) priorityClassesBefore() (out []*schedulingv1.PriorityClass) {
	if c.in.Cluster == nil {
		return nil
	}
	for _, k := range c.in.Cluster.PriorityClasses {
		if k != nil && !slices.Contains(c.in.PriorityClasses, k) {
			out = append(out, k)
		}
	}
	return out
}

// storageClasses returns the StorageClasses after the manifests are applied. A manifest replaces the class of its name. Classes that the
// cluster lacks come last, and are newer than all others.
func (c *checker) storageClasses() (out []*storagev1.StorageClass) {
	aged := func(k *storagev1.StorageClass, created metav1.Time) *storagev1.StorageClass {
		if k.CreationTimestamp.IsZero() {
			k = k.DeepCopy()
			k.CreationTimestamp = created
		}
		return k
	}
	newest := metav1.Time{}
	if c.in.Cluster != nil {
		for _, k := range c.in.Cluster.StorageClasses {
			if k == nil {
				continue
			}
			if newest.Before(&k.CreationTimestamp) {
				newest = k.CreationTimestamp
			}
			if i := slices.IndexFunc(c.in.StorageClasses, func(m *storagev1.StorageClass) bool { return m != nil && m.Name == k.Name }); i >= 0 {
				k = aged(c.in.StorageClasses[i], k.CreationTimestamp)
			}
			out = append(out, k)
		}
	}
	for _, k := range missingIn(out, c.in.StorageClasses) {
		out = append(out, aged(k, metav1.NewTime(newest.Add(time.Second))))
	}
	return out
}
