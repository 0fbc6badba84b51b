package fixes

import (
	"fmt"
	"regexp"
	"strings"

	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What is said about nodes, classes and claims that are not there, and about values that the API server refuses.
func init() {
	means(`add a node that the pod may use|more nodes`, func(s *site, _ []string) bool { return s.addNodes(1) })
	means(`a larger node`, func(s *site, _ []string) bool {
		if s.way > 0 {
			return s.addNodes(100)
		}
		for _, n := range s.w.Nodes { // each in the place of a node of its name
			multiply(n, 100)
		}
		return len(s.w.Nodes) > 0
	})
	means(`more preferred nodes`, func(s *site, _ []string) bool { return s.addNodes(1) })
	means(`install the device plugin`, first(func(s *site, _ []string) bool {
		m := regexp.MustCompile(`no node offers ([^ ,]+)`).FindStringSubmatch(s.f.Explanation)
		for _, n := range s.w.Nodes {
			n.Status.Allocatable[v1.ResourceName(m[1])] = resource.MustParse("100")
		}
		return true
	}))
	means(`create the claim`, first(func(s *site, _ []string) bool {
		c := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespaceOf(s.o), Name: lastWord(s.f.Explanation)}}
		c.Spec = v1.PersistentVolumeClaimSpec{AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteMany}, VolumeName: "made", StorageClassName: new(string)}
		c.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}
		c.Status.Phase = v1.ClaimBound // a controller binds it
		c.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
		v := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "made"}, Spec: v1.PersistentVolumeSpec{AccessModes: c.Spec.AccessModes, Capacity: c.Spec.Resources.Requests}}
		v.Spec.ClaimRef = &v1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: c.Namespace, Name: c.Name}
		v.Status.Phase = v1.VolumeBound
		s.w.Added = append(s.w.Added, c, v)
		return true
	}))
	means(`create the class`, first(func(s *site, _ []string) bool {
		m := regexp.MustCompile(`no (PriorityClass|RuntimeClass|StorageClass) ([^ ,;]+)`).FindStringSubmatch(s.f.Explanation)
		if m == nil {
			return false // a DeviceClass needs devices
		}
		named := metav1.ObjectMeta{Name: m[2]}
		s.w.Added = append(s.w.Added, map[string]metav1.Object{
			"PriorityClass": &schedulingv1.PriorityClass{ObjectMeta: named}, "RuntimeClass": &nodev1.RuntimeClass{ObjectMeta: named, Handler: "made"},
			"StorageClass": &storagev1.StorageClass{ObjectMeta: named, Provisioner: "made.example.com", VolumeBindingMode: later()},
		}[m[1]])
		return true
	}))
	means(`amounts within the bounds of the LimitRange`, first(func(s *site, _ []string) bool {
		m := regexp.MustCompile(`(?:maximum|minimum) (\S+) usage per (?:Pod|Container) is ([^ ,]+)[, ]`).FindStringSubmatch(s.f.Explanation)
		return m != nil && s.amount(m[1], strings.TrimSuffix(m[2], "."))
	}))
	means(`a value that the API allows`, first(func(s *site, _ []string) bool {
		if m := regexp.MustCompile(`supported values: "([^"]+)"`).FindStringSubmatch(s.f.Explanation); m != nil {
			return s.has() && s.atPath(m[1])
		}
		_, isNumber := get(read(s.o), s.path).(float64)
		switch {
		case strings.Contains(s.f.Explanation, "must be an integer"):
			return s.has() && s.atPath("1")
		case isNumber && strings.Contains(s.f.Explanation, "must be greater than zero"), isNumber && strings.Contains(s.f.Explanation, "must be in the range 1-100"):
			return s.atPath(1)
		}
		return false // no text says which values are allowed
	}))
}

func lastWord(text string) string { return text[strings.LastIndex(text, " ")+1:] }

func later() *storagev1.VolumeBindingMode {
	mode := storagev1.VolumeBindingWaitForFirstConsumer
	return &mode
}

// addNodes adds nodes like those of the cluster, open and empty, with a multiple of their amounts: as many as there are for each way.
func (s *site) addNodes(times int64) bool {
	if s.way > 3 || len(s.w.Nodes) == 0 {
		return false
	}
	for i, n := range s.w.Nodes {
		for k := range (s.way + 1) * (s.way + 1) {
			c := n.DeepCopy()
			c.Name = fmt.Sprintf("more-%d-%d", i, k)
			if c.Labels[v1.LabelHostname] != "" {
				c.Labels[v1.LabelHostname] = c.Name
			}
			c.Spec.Taints, c.Spec.Unschedulable = nil, false
			multiply(c, times)
			s.w.Added = append(s.w.Added, c)
		}
	}
	return true
}

func multiply(n *v1.Node, times int64) {
	for name, q := range n.Status.Allocatable {
		q.Mul(times)
		n.Status.Allocatable[name] = q
	}
}

// laterClass adds a twin of the class that the explanation names, whose volumes wait for their first consumer, and gives it to the claim.
func (s *site) laterClass() bool {
	m := regexp.MustCompile(`^class (\S+) makes`).FindStringSubmatch(s.f.Explanation)
	if m == nil {
		return false
	}
	for _, o := range s.w.Objects {
		if k, is := o.(*storagev1.StorageClass); is && k.Name == m[1] {
			twin := k.DeepCopy()
			twin.Name, twin.VolumeBindingMode = k.Name+"-later", later()
			delete(twin.Annotations, "storageclass.kubernetes.io/is-default-class")
			s.w.Added = append(s.w.Added, twin)
			return s.claimClass(twin.Name)
		}
	}
	return false
}
