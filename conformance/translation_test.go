package conformance

import (
	"encoding/json"
	"fmt"
	"iter"
	"math/rand"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	affinity "k8s.io/component-helpers/storage/volume"
	csitranslation "k8s.io/csi-translation-lib"
	"k8s.io/klog/v2"

	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/volumes"
)

var (
	// read are the plugins whose migration VolumeBinding reads.
	read = []string{"kubernetes.io/aws-ebs", "kubernetes.io/gce-pd", "kubernetes.io/cinder", "kubernetes.io/azure-disk"}
	// counted are those whose volumes NodeVolumeLimits counts.
	counted = append([]string{"kubernetes.io/portworx-volume"}, read...)
)

// Volumes of in-tree kinds are in reach of nodes that migrated their plugin as Kubernetes' translation library says, and of
// others as they are written; their drivers know them by the library's handles. Which plugins the scheduler looks at is
// what TestVolumes compares.
func TestTranslation(t *testing.T) {
	translator := csitranslation.New()
	for i := range gen.Count(20000, 5) {
		seed := *gen.Seed + int64(i)
		rng := rand.New(rand.NewSource(seed))
		pv := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv", Labels: gen.ZoneLabels(rng)}}
		pv.Spec.PersistentVolumeSource, pv.Spec.NodeAffinity = gen.InTreeSource(rng), gen.VolumeAffinity(rng)
		plugin, err := translator.GetInTreePluginNameFromSpec(pv, nil)
		require.NoError(t, err)
		translated, failed := translator.TranslateInTreePVToCSI(klog.Background(), pv)
		c := translationCluster{plugin: plugin}
		for k := range 6 {
			c.nodes = append(c.nodes, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("node", k), Labels: gen.TopologyLabels(rng)}})
		}
		state := c.pod(pv).Binding().On(c)
		for k, n := range c.nodes {
			want, code := "", filter.Success
			switch seen := pv; {
			case c.migrated(k) && slices.Contains(read, plugin) && failed != nil:
				want, code = "could not translate pv: "+failed.Error(), filter.Error
			default:
				if c.migrated(k) && slices.Contains(read, plugin) {
					seen = translated
				}
				if affinity.CheckNodeAffinity(seen, n.Labels) != nil {
					want, code = "node(s) didn't match PersistentVolume's node affinity", filter.UnschedulableAndUnresolvable
				}
			}
			got := ""
			if v := state.Check(k); v != 0 {
				got = state.Reasons(v)[0]
			}
			require.Equal(t, want, got, "seed %d\nlabels %q\naffinity %s\ntranslated %s\nnode %q", seed, pv.Labels, reach(pv), reach(translated), n.Labels)
			require.Equal(t, code, state.Code(state.Check(k)), "seed %d", seed)
			seen.Produced("translation", plugin+" "+code.String())
		}
		seen.Compared("translation")
		if failed != nil || !slices.Contains(counted, plugin) {
			require.Empty(t, c.limits(c.pod(pv)), "seed %d", seed)
			continue
		}
		counts := c.limits(c.pod(pv, translated))
		require.Equal(t, []volumes.DriverCount{{Driver: translated.Spec.CSI.Driver, New: 1, Limit: 9}}, counts, "seed %d: one volume by both names", seed)
	}
}

// translationCluster makes nodes. Every second node migrated a plugin and has the plugin's driver.
type translationCluster struct {
	nodes  []*v1.Node
	plugin string
}

func (c translationCluster) Len() int                   { return len(c.nodes) }
func (c translationCluster) Node(i int) *v1.Node        { return c.nodes[i] }
func (c translationCluster) Pods(int) iter.Seq[*v1.Pod] { return func(func(*v1.Pod) bool) {} }
func (c translationCluster) migrated(i int) bool        { return i%2 == 0 }

// pod compiles a pod with a bound claim for each volume.
func (c translationCluster) pod(pvs ...*v1.PersistentVolume) *volumes.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p"}}
	var claims []*v1.PersistentVolumeClaim
	var named []*v1.PersistentVolume
	for i, pv := range pvs {
		name := fmt.Sprint("c", i)
		copied := pv.DeepCopy()
		copied.Name = name
		named = append(named, copied)
		claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Annotations: map[string]string{affinity.AnnBindCompleted: "yes"}}}
		claim.Spec.VolumeName = name
		claims = append(claims, claim)
		p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: name, VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: name}}})
	}
	return volumes.Compile(p, volumes.Objects{Claims: volumes.List(claims...), PersistentVolumes: volumes.List(named...), CSINodes: volumes.List(c.csiNodes()...)}, volumes.Options{})
}

func (c translationCluster) csiNodes() []*storagev1.CSINode {
	var out []*storagev1.CSINode
	nine := int32(9)
	for i, n := range c.nodes {
		csiNode := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: n.Name}}
		if c.migrated(i) {
			csiNode.Annotations = map[string]string{v1.MigratedPluginsAnnotationKey: "kubernetes.io/other," + c.plugin}
		}
		driver, err := csitranslation.New().GetCSINameFromInTreeName(c.plugin)
		if err != nil {
			driver = c.plugin
		}
		csiNode.Spec.Drivers = []storagev1.CSINodeDriver{{Name: driver, Allocatable: &storagev1.VolumeNodeResources{Count: &nine}}}
		out = append(out, csiNode)
	}
	return out
}

// limits returns the drivers with a limit on slot 0 when no pod has a volume there.
func (c translationCluster) limits(p *volumes.Pod) []volumes.DriverCount {
	return p.Limits().On(volumes.NewUsage(c, volumes.Objects{CSINodes: volumes.List(c.csiNodes()...)})).Explain(0)
}

// reach is a volume's node affinity as JSON.
func reach(pv *v1.PersistentVolume) string {
	if pv == nil {
		return "none"
	}
	b, err := json.Marshal(pv.Spec.NodeAffinity)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
