package consolidation

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/decider"
	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/internal/key"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podkey"
	"github.com/podberth/podberth/spread"
)

// kind is pods that are equal in their hard rules about other pods.
type kind struct {
	rep    *v1.Pod               // one of the pods, with its hard rules alone
	hard   spread.Hard           // nil: no hard constraints
	pods   affinity.PodEvaluator // nil: no required terms
	at     map[int32]int32       // pods of the kind by slot, before the plan
	broken map[int32]bool        // slots where a rule does not hold before the plan
}

// readRules finds the kinds, and which pods a rule of a kind concerns.
func (p *Planner) readRules() {
	f, g := p.real.Filter("PodTopologySpread"), p.real.Filter("InterPodAffinity")
	ofSpread, ofPods := decider.Args[spread.Options](p.real, "PodTopologySpread"), decider.Args[affinity.PodOptions](p.real, "InterPodAffinity")
	if ofSpread.Owners == nil {
		ofSpread.Owners = cluster.Owners{Snapshot: p.base}
	}
	byKey := map[string]int32{}
	loadOf := map[*v1.Pod]*load{}
	for i := range p.loads {
		loadOf[p.loads[i].old] = &p.loads[i]
	}
	var buffer []byte
	for i := range p.nodes {
		if p.nodes[i].object == nil {
			continue
		}
		for pod := range p.base.Pods(i) {
			if pod.DeletionTimestamp != nil {
				continue
			}
			rep := strict(pod)
			buffer = podkey.NodeAffinity(podkey.PodAffinity(podkey.Spread(buffer[:0], rep), rep), rep)
			id, ok := byKey[string(buffer)]
			if !ok {
				id = -1
				if k := newKind(rep, f != nil, g != nil, ofSpread, ofPods); k != nil {
					id = int32(len(p.kinds))
					p.kinds = append(p.kinds, k)
				}
				byKey[string(buffer)] = id
			}
			if id < 0 {
				continue
			}
			p.kinds[id].at[int32(i)]++
			if l := loadOf[pod]; l != nil {
				l.kind = id
			}
		}
	}
	p.group()
}

// strict returns a copy of a pod without its preferences.
func strict(pod *v1.Pod) *v1.Pod {
	c := *pod
	c.Spec.TopologySpreadConstraints = slices.DeleteFunc(slices.Clone(c.Spec.TopologySpreadConstraints), func(c v1.TopologySpreadConstraint) bool { return c.WhenUnsatisfiable != v1.DoNotSchedule })
	if a := pod.Spec.Affinity; a != nil {
		alone := v1.Affinity{NodeAffinity: a.NodeAffinity}
		if x := a.PodAffinity; x != nil && len(x.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
			alone.PodAffinity = &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: x.RequiredDuringSchedulingIgnoredDuringExecution}
		}
		if x := a.PodAntiAffinity; x != nil && len(x.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
			alone.PodAntiAffinity = &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: x.RequiredDuringSchedulingIgnoredDuringExecution}
		}
		c.Spec.Affinity = &alone
	}
	return &c
}

// newKind compiles the rules of a pod; nil when it has none. A profile without the filter has no such rules.
func newKind(rep *v1.Pod, spreads, terms bool, ofSpread spread.Options, ofPods affinity.PodOptions) *kind {
	k := &kind{rep: rep, at: map[int32]int32{}, broken: map[int32]bool{}}
	if spreads {
		if hard := must.Get(spread.CompileHard(rep, ofSpread)); !hard.Skip() {
			k.hard = hard
		}
	}
	if a := rep.Spec.Affinity; terms && a != nil && (a.PodAffinity != nil || a.PodAntiAffinity != nil) {
		k.pods = must.Get(affinity.CompilePods(rep, ofPods))
	}
	if k.hard == nil && k.pods == nil {
		return nil
	}
	return k
}

// group gives each pod that may move the rules that its move concerns: the rules of its own kind, those that count it, and for the
// pods of a StatefulSet, and those whose claims are made for them, that they move one at a time.
func (p *Planner) group() {
	type counted struct{ by []int32 } // by which kinds
	byLabels := map[string]*counted{}
	of := make([]*counted, len(p.loads))
	var reps []*v1.Pod
	var lists []*counted
	var buffer []byte
	for i := range p.loads {
		pod := p.loads[i].old
		buffer = key.Pairs(key.Text(buffer[:0], pod.Namespace), pod.Labels)
		l := byLabels[string(buffer)]
		if l == nil {
			l = &counted{}
			byLabels[string(buffer)] = l
			reps, lists = append(reps, pod), append(lists, l)
		}
		of[i] = l
	}
	memo := &engine.Memo{}
	for id, k := range p.kinds {
		var moving engine.MovingTerms
		if k.pods != nil {
			moving = countTerms(k.pods, p.base, memo).(engine.MovingTerms)
		}
		j := k.over(p.base, memo)
		for slot := range k.at {
			k.broken[slot] = !j.holds(int(slot))
		}
		for j, rep := range reps {
			if k.hard != nil && k.hard.Counts(rep) || moving != nil && moving.OfLabels(rep) != nil {
				lists[j].by = append(lists[j].by, int32(id))
			}
		}
	}
	alone := map[[2]string]int32{} // groups of loads that move one at a time
	for i := range p.loads {
		l := &p.loads[i]
		l.groups = slices.Clone(of[i].by)
		if l.kind >= 0 {
			l.groups = append(l.groups, l.kind)
		}
		join := func(name [2]string) {
			if _, ok := alone[name]; !ok {
				alone[name] = int32(len(p.kinds) + len(alone))
			}
			l.groups = append(l.groups, alone[name])
		}
		if l.way == InPlace {
			join([2]string{l.old.Namespace, metav1.GetControllerOfNoCopy(l.old).Name})
		}
		if l.claims {
			join([2]string{})
		}
		slices.Sort(l.groups)
		l.groups = slices.Compact(l.groups)
	}
}

// judge asks the rules of a kind over a snapshot.
type judge struct {
	kind   *kind
	hard   spread.HardState // nil: no such constraint
	pods   affinity.State   // nil: no required terms
	byHard engine.Move      // of a pod of the kind, on hard
	byPods engine.Move      // the same on pods
}

// over counts the pods of a snapshot. The memo is of that snapshot.
func (k *kind) over(s *cluster.Snapshot, m *engine.Memo) *judge {
	j := &judge{kind: k}
	if k.hard != nil {
		j.hard = k.hard.Count(s)
		j.byHard = j.hard.(engine.Moving).OfLabels(k.rep)
	}
	if k.pods != nil {
		j.pods = countTerms(k.pods, s, m)
		moving := j.pods.(engine.MovingTerms)
		j.byPods = engine.Both(moving.OfLabels(k.rep), moving.OfTerms(nil, 0, k.rep))
	}
	return j
}

// countTerms counts the running pods of a cluster with their compiled terms kept in a memo, which is not nil.
func countTerms(e affinity.PodEvaluator, c affinity.Cluster, m *engine.Memo) affinity.State {
	return e.(interface {
		CountWith(c affinity.Cluster, m *engine.Memo) affinity.State
	}).CountWith(c, m)
}

// holds reports whether a slot would take the pod of the kind that runs there, if the pod were not there.
func (j *judge) holds(slot int) bool {
	ok := true
	if j.hard != nil {
		j.byHard.By(slot, -1)
		ok = j.hard.Check(slot) == 0
		j.byHard.By(slot, 1)
	}
	if j.pods != nil && ok {
		j.byPods.By(slot, -1)
		ok = j.pods.Check(slot) == 0
		j.byPods.By(slot, 1)
	}
	return ok
}
