package diagnose

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// What a person does about a claim that no scheduler can bind.
func TestVolumeChanges(t *testing.T) {
	class := func(name, provisioner string, mode storagev1.VolumeBindingMode, zones ...string) *storagev1.StorageClass {
		c := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "c"}, Provisioner: provisioner, VolumeBindingMode: &mode}
		if zones != nil {
			c.AllowedTopologies = []v1.TopologySelectorTerm{{MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{{Key: zone, Values: zones}}}}
		}
		return c
	}
	usual := func(c *storagev1.StorageClass) *storagev1.StorageClass {
		c.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
		return c
	}
	const now, later = storagev1.VolumeBindingImmediate, storagev1.VolumeBindingWaitForFirstConsumer
	name := func(s string) *string { return &s }
	type test struct {
		name, why string
		classes   []*storagev1.StorageClass
		claim     *string // class; nil: none
		missing   bool
		owner     string
		want      []string
	}
	testkit.Run(t, []test{
		{"the provisioner has not bound", "the fork has the volume that it makes", []*storagev1.StorageClass{class("imm", "x", now)}, name("imm"), false, "",
			[]string{"n1: start or install x (it binds claim c of class imm)"}},
		{"the provisioner makes volumes in one zone", "the volume is where the class allows it", []*storagev1.StorageClass{class("imm", "x", now, "b")}, name("imm"), false, "",
			[]string{"n2: start or install x (it binds claim c of class imm)"}},
		{"a person makes the volumes", "there is no provisioner to start", []*storagev1.StorageClass{class("local", noProvisioner, now)}, name("local"), false, "",
			[]string{"n1: make a volume of class local with 1Gi for claim c"}},
		{"a class that looks alike", "the other class is not meant", []*storagev1.StorageClass{class("gp-2", "x", later), class("other", "y", now)}, name("gp2"), false, "",
			[]string{"n1: PersistentVolumeClaim default/c: make it again with class gp-2"}},
		{"no class looks alike", "each is tried, and the default is none", []*storagev1.StorageClass{class("fast", "x", later), class("slow", "y", now)}, name("premium-zrs"), false, "",
			[]string{"n1: PersistentVolumeClaim default/c: make it again with class fast", "n1: PersistentVolumeClaim default/c: make it again with class slow; y must bind it"}},
		{"no class, and a default", "the default alone is tried", []*storagev1.StorageClass{class("a", "x", later), usual(class("b", "x", later))}, nil, false, "",
			[]string{"n1: PersistentVolumeClaim default/c: set its spec.storageClassName to b, which is allowed once"}},
		{"the claim is missing", "somebody makes it", []*storagev1.StorageClass{class("a", noProvisioner, now)}, nil, true, "",
			[]string{"n1: PersistentVolumeClaim default/c: make it with class a; a volume that a person makes must bind it"}},
		{"the claim of a StatefulSet is missing", "the controller makes both", []*storagev1.StorageClass{class("a", "x", later)}, nil, true, "StatefulSet",
			[]string{"n1: PersistentVolumeClaim default/c: delete default/web once: StatefulSet db makes it again with its claim"}},
		{"no class at all", "somebody makes the class", nil, name("gp3"), false, "", []string{"n1: make the StorageClass gp3: its provisioner binds claim c"}},
		{"no class and no class at all", "a default class is one way", nil, nil, false, "", []string{"n1: make a StorageClass that is the default: its provisioner binds claim c"}},
		{"the claim is missing, and no class at all", "the claim alone does not help", nil, nil, true, "",
			[]string{"n1: PersistentVolumeClaim default/c: make it; a volume that a person makes must bind it, for there is no StorageClass"}},
		{"the claim of a StatefulSet, and no class at all", "the controller makes both, and nobody the volume", nil, nil, true, "StatefulSet",
			[]string{"n1: PersistentVolumeClaim default/c: delete default/web once: StatefulSet db makes it again with its claim; a volume that a person makes must bind it, for there is no StorageClass"}},
		{"the empty class", "volumes without a class are made by hand", []*storagev1.StorageClass{class("a", "x", now)}, name(""), false, "",
			[]string{"n1: make a volume without a class with 1Gi (ReadWriteOnce) for claim c"}},
	}, func(t *testing.T, c test) {
		pod := testkit.Pod("web").Obj()
		pod.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}}}
		if c.owner != "" {
			yes := true
			pod.OwnerReferences = []metav1.OwnerReference{{Kind: c.owner, Name: "db", UID: "db", Controller: &yes}}
		}
		o := cluster.Objects{Nodes: []*v1.Node{testkit.Node("n1").Zone("a").Obj(), testkit.Node("n2").Zone("b").Obj()}, StorageClasses: c.classes}
		if !c.missing {
			o.Claims = []*v1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c", UID: "c"}, Spec: v1.PersistentVolumeClaimSpec{
				StorageClassName: c.claim, AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, Resources: v1.VolumeResourceRequirements{Requests: testkit.Resources("storage=1Gi")},
			}}}
		}
		var have []string
		for _, r := range relax(t, o, pod, Options{}).Relaxations {
			have = append(have, r.Node+": "+r.Text())
		}
		require.Equal(t, c.want, have)
	})
}
