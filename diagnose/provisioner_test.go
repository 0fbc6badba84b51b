package diagnose

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// What a cause says of the provisioner: its CSIDriver, and its pods, which name it, or whose names look like its.
func TestProvisioners(t *testing.T) {
	pod := func(name string, edit func(p *v1.Pod)) *v1.Pod {
		p := testkit.Pod(name).On("n1").Obj()
		p.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
		edit(p)
		return p
	}
	side := func(p *v1.Pod) { p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: "csi-provisioner"}) }
	says := func(p *v1.Pod) { p.Spec.Containers[0].Args = []string{"--drivername=ebs.csi.aws.com"} }
	broken := func(p *v1.Pod) {
		side(p)
		p.Status.Conditions = nil
	}
	waits := pod("ebs-provisioner", func(p *v1.Pod) { p.Spec.NodeName = "" })
	type test struct {
		name, why string
		by        string
		pods      []*v1.Pod
		waiting   []*v1.Pod
		drivers   []string
		want      string
	}
	testkit.Run(t, []test{
		{"nobody", "nothing is known", "ebs.csi.aws.com", nil, nil, nil, "; no pod of it is known"},
		{"another driver", "the driver of the name is missing", "ebs.csi.aws.com", nil, nil, []string{"b", "a"}, "; it has no CSIDriver (a and b exist); no pod of it is known"},
		{"a word of the name", "and a container that makes volumes", "ebs.csi.aws.com", []*v1.Pod{pod("ebs-csi-controller", side), pod("ebs-csi-node", func(*v1.Pod) {}), pod("other", side)}, nil, nil, "; default/ebs-csi-controller of it is ready"},
		{"a common word", "it says nothing", "aws.csi.example.com", []*v1.Pod{pod("aws-csi", side)}, nil, nil, "; no pod of it is known"},
		{"an argument", "no pod looks like it", "ebs.csi.aws.com", []*v1.Pod{pod("x", says)}, nil, nil, "; default/x of it is ready"},
		{"an argument and the container", "a pod with an argument alone comes later", "ebs.csi.aws.com", []*v1.Pod{pod("x", says), pod("y", func(p *v1.Pod) { says(p); side(p) })}, nil, nil, "; default/y of it is ready"},
		{"broken", "the pods that do not work are named", "ebs.csi.aws.com", []*v1.Pod{pod("ebs-1", side), pod("ebs-2", broken)}, nil, nil, "; default/ebs-2 is not ready"},
		{"it ends", "it makes nothing more", "ebs.csi.aws.com", []*v1.Pod{pod("ebs-1", func(p *v1.Pod) { side(p); p.DeletionTimestamp = &metav1.Time{Time: testkit.Epoch} })}, nil, nil, "; default/ebs-1 is being deleted"},
		{"it waits", "a node comes first", "ebs.csi.aws.com", nil, []*v1.Pod{nil, waits}, nil, "; default/ebs-provisioner waits for a node"},
		{"nobody provisions", "a person makes volumes", noProvisioner, nil, nil, []string{"a"}, ""},
	}, func(t *testing.T, c test) {
		objects := cluster.Objects{Nodes: []*v1.Node{testkit.Node("n1").Obj()}, Pods: c.pods}
		for _, name := range c.drivers {
			objects.CSIDrivers = append(objects.CSIDrivers, &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
		s, err := cluster.New(objects)
		require.NoError(t, err)
		plan, err := placement.New(s, placement.DefaultProfile())
		require.NoError(t, err)
		require.Equal(t, c.want, newSought(plan.Prepare, s, testkit.Pod("p").Obj(), c.waiting).binds(c.by))
	})
}
