package volumes

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/view"
	"github.com/podberth/podberth/resources"
)

// zoneFilter is a pod's side of VolumeZone: the zones and regions that the labels of its volumes allow.
type zoneFilter struct {
	pre   filter.PreFilterResult
	rules []zoneRule
}

// zoneRule is one label of one volume.
type zoneRule struct {
	key, twin string // twin is today's name of a beta key, "" for today's names
	values    []string
	volume    string
}

const zonePlugin = "VolumeZone"

// zoneKeys are the labels in the order in which they are looked at. A beta label has the name of its successor beside it.
var zoneKeys = [...][2]string{
	{v1.LabelFailureDomainBetaZone, v1.LabelTopologyZone},
	{v1.LabelFailureDomainBetaRegion, v1.LabelTopologyRegion},
	{v1.LabelTopologyZone, ""},
	{v1.LabelTopologyRegion, ""},
}

// Zone compiles the filter VolumeZone: a node must be in a zone and a region of each bound volume, by the labels of both.
// Generic ephemeral volumes are not looked at.
//
// PreFilter answers UnschedulableAndUnresolvable for a missing object and for a claim that has to be bound already, Skip when
// no volume has a zone, and else Success.
//
// Other nodes and free slots are rejected with verdict 1 and [resources.Unresolvable]. A node with none of the labels is
// allowed. When the cluster offers Classes, On decides each class of equal nodes once. Otherwise On is O(1). Check does not
// allocate. Explain returns the labels that the node does not meet, in the order of the claims and labels.
func (p *Pod) Zone() Evaluator[filter.Cluster, filter.State[ZoneConflict]] { return p.zone() }

func (p *Pod) zone() *zoneFilter {
	e := &zoneFilter{}
	for i := range p.claims {
		c := &p.claims[i]
		if c.ephemeral {
			continue
		}
		pv, reason := p.zonal(c)
		if reason != "" {
			e.pre, e.rules = result(zonePlugin, filter.UnschedulableAndUnresolvable, reason), nil
			return e
		}
		if pv != nil {
			e.rules = appendZoneRules(e.rules, pv)
		}
	}
	e.pre = result(zonePlugin, filter.Success)
	if len(e.rules) == 0 {
		e.pre.Code = filter.Skip
	}
	return e
}

// zonal returns the volume of a claim, and nil for a claim whose volume is chosen with the node. When the claim rejects the
// pod, zonal returns the reason.
func (p *Pod) zonal(c *podClaim) (pv *v1.PersistentVolume, reason string) {
	switch {
	case c.name == "":
		return nil, "PersistentVolumeClaim had no name"
	case c.claim == nil:
		return nil, claimNotFound(c.name)
	case c.claim.Spec.VolumeName != "":
		if pv, ok := lookUp(p.objects.PersistentVolumes, "", c.claim.Spec.VolumeName); ok {
			return pv, ""
		}
		return nil, volumeNotFound(c.claim.Spec.VolumeName)
	}
	name := class(c.claim)
	if name == "" {
		return nil, "PersistentVolumeClaim had no pv name and storageClass name"
	}
	sc, ok := p.class(name)
	switch {
	case !ok:
		return nil, classNotFound(name)
	case sc.VolumeBindingMode == nil:
		return nil, modeNotSet(name)
	case *sc.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer:
		return nil, ""
	}
	return nil, "PersistentVolume had no name"
}

func appendZoneRules(dst []zoneRule, pv *v1.PersistentVolume) []zoneRule {
	for _, key := range zoneKeys {
		if values, ok := zoneSet(pv.Labels[key[0]]); ok {
			dst = append(dst, zoneRule{key[0], key[1], values, pv.Name})
		}
	}
	return dst
}

// zoneSet splits a label such as "z1__z2". It returns false when an element is empty.
func zoneSet(value string) ([]string, bool) {
	values := strings.Split(value, "__")
	for i := range values {
		if values[i] = strings.TrimSpace(values[i]); values[i] == "" {
			return nil, false
		}
	}
	return values, true
}

func (e *zoneFilter) PreFilter() filter.PreFilterResult { return e.pre }

// reads appends the parts of a node on which the verdict depends.
func (e *zoneFilter) reads(dst []string) []string {
	if len(e.rules) == 0 {
		return dst
	}
	for _, key := range zoneKeys {
		dst = append(dst, "label:"+key[0])
	}
	return dst
}

func (e *zoneFilter) On(c filter.Cluster) filter.State[ZoneConflict] {
	s := &zoneState{zone: e, cluster: c}
	if len(e.rules) > 0 {
		s.classes = view.Classify(c, e.reads(nil), e.check)
	}
	return s
}

// zoneState is VolumeZone for one pod and one cluster.
type zoneState struct {
	zone    *zoneFilter
	cluster filter.Cluster
	classes view.Classes[resources.Verdict]
}

func (s *zoneState) Name() string { return zonePlugin }

func (s *zoneState) Check(i int) resources.Verdict {
	if v := s.classes.At(i); v != nil {
		return *v
	}
	if node := s.cluster.Node(i); node != nil {
		return s.zone.check(node)
	}
	return 1 | resources.Unresolvable
}

func (e *zoneFilter) check(node *v1.Node) resources.Verdict {
	if !zoned(node) {
		return 0
	}
	for k := range e.rules {
		if !e.rules[k].allows(node) {
			return 1 | resources.Unresolvable
		}
	}
	return 0
}

func zoned(node *v1.Node) bool {
	for _, key := range zoneKeys {
		if _, ok := node.Labels[key[0]]; ok {
			return true
		}
	}
	return false
}

// allows reports whether the rule has the value of the node's label. When the node does not have a beta key, today's key
// counts. A volume with today's labels does not match a node that has only beta labels.
func (r *zoneRule) allows(node *v1.Node) bool {
	value, ok := node.Labels[r.key]
	if !ok {
		value = node.Labels[r.twin]
	}
	return slices.Contains(r.values, value) // none of them is empty
}

func (s *zoneState) Reasons(v resources.Verdict) []string {
	if v == 0 {
		return nil
	}
	return []string{"node(s) had no available volume zone"}
}

// ZoneConflict is a label of a volume that a node does not meet.
type ZoneConflict struct {
	Volume string
	Key    string
	Values []string // allowed
}

func (s *zoneState) Explain(i int) []ZoneConflict {
	node := s.cluster.Node(i)
	if node == nil || s.Check(i) == 0 {
		return nil
	}
	var out []ZoneConflict
	for _, r := range s.zone.rules {
		if !r.allows(node) {
			out = append(out, ZoneConflict{r.volume, r.key, slices.Clone(r.values)})
		}
	}
	return out
}
