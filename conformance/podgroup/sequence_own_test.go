package podgroup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/internal/testkit/situation"
	own "github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/scheduler"
	"github.com/podberth/podberth/volumes"
)

// ownPlayer is podberth's scheduler over an API server in memory, in virtual time.
type ownPlayer struct {
	now    time.Time
	second time.Time // when the queue last looked for the ends of backoffs
	flush  time.Time // when it last looked for pods that have waited for long
	s      *scheduler.Scheduler
	pods   map[string]*v1.Pod
	groups map[string]*own.Group
	tasks  []func()
	errs   []error
	notes  []string // events
	counts tally
}

func newOurs(gates *own.Gates, nodes ...*v1.Node) (player, error) {
	began := time.Now().Add(-aside) // as kube-scheduler's queue
	p := &ownPlayer{now: began, second: began.Truncate(time.Second), flush: began, pods: map[string]*v1.Pod{}, groups: map[string]*own.Group{}, counts: tally{}}
	snapshot, err := cluster.New(cluster.Objects{Nodes: nodes})
	if err != nil {
		return nil, err
	}
	second := time.Second
	p.s, err = scheduler.New(snapshot, scheduler.Options{
		Client: p, Recorder: p, Metrics: p.counts, Groups: gates, Clock: p, InitialBackoff: second, MaxBackoff: &second,
		Go: func(task func()) { p.tasks = append(p.tasks, task) }, OnError: func(err error) { p.errs = append(p.errs, err) },
	})
	if err != nil {
		return nil, err
	}
	p.s.Tick()
	p.now = time.Now()
	return p, nil
}

func (p *ownPlayer) Now() time.Time                       { return p.now }
func (p *ownPlayer) After(time.Duration) <-chan time.Time { return nil }

func (p *ownPlayer) do(s step) error {
	switch {
	case s.group != nil:
		var before metav1.Object
		next := *s.group
		if old := p.groups[next.Name]; old != nil {
			before, next.Conditions = old, old.Conditions
		}
		p.groups[next.Name] = &next
		p.s.Set(before, &next)
	case s.composite != nil:
		p.s.Set(nil, s.composite)
	case s.budget != nil:
		p.s.Set(nil, s.budget)
	case s.pod != nil:
		p.pods[podinfo.Name(s.pod)] = s.pod
		p.s.AddPod(s.pod)
	case s.leaves != "":
		if old := p.pods[situation.Namespace+"/"+s.leaves]; old != nil {
			delete(p.pods, podinfo.Name(old))
			p.s.DeletePod(old)
		}
	default:
		if g := p.groups[s.removed]; g != nil {
			delete(p.groups, s.removed)
			p.s.Remove(g)
		}
	}
	p.work()
	p.advance(apart)
	return nil
}

// advance lets time pass. The queue looks at the clock as kube-scheduler's does: at whole seconds, and every 30 s from its beginning.
func (p *ownPlayer) advance(d time.Duration) {
	for end := p.now.Add(d); p.now.Before(end); {
		next := end
		for _, at := range []time.Time{p.second.Add(time.Second), p.flush.Add(30 * time.Second)} {
			if at.Before(next) {
				next = at
			}
		}
		if next.After(p.now) {
			p.now = next
		}
		if second := p.now.Truncate(time.Second); second.After(p.second) {
			p.second = second
			p.s.Tick()
		}
		if at := p.flush.Add(30 * time.Second); !p.now.Before(at) {
			p.flush = at
			p.s.Tick()
		}
		p.work()
	}
}

// work does what is due.
func (p *ownPlayer) work() {
	for did := true; did; {
		did = p.s.TryScheduleOne(context.Background())
		for len(p.tasks) > 0 {
			task := p.tasks[0]
			p.tasks, did = p.tasks[1:], true
			task()
		}
	}
}

func (p *ownPlayer) rest() { p.advance(settled) }

func (p *ownPlayer) shown() (out []string) {
	for _, x := range p.pods {
		out = append(out, lineOf(x))
	}
	for _, g := range p.groups {
		for _, c := range g.Conditions {
			out = append(out, groupLine("group "+g.Name, c.Reason, c.Message))
		}
	}
	p.s.Queue().Read(func(q *queue.Queue) {
		for _, e := range q.All(p.now) {
			place := e.Place.String()
			switch e.Place { // the names of kube-scheduler
			case queue.ErrorBackoff:
				place = queue.Backoff.String()
			case queue.Gated:
				place = queue.Unschedulable.String()
			}
			out = append(out, fmt.Sprintf("%s %s after %d attempts", e.Pod.Name, place, e.Attempts))
		}
	})
	for _, err := range p.errs {
		out = append(out, "error: "+err.Error())
	}
	return out
}

func (p *ownPlayer) told() []string {
	out := p.notes
	p.notes = nil
	return out
}

func (p *ownPlayer) Event(pod *v1.Pod, _, reason, _, note string) {
	p.now = p.now.Add(moment)
	p.notes = append(p.notes, fmt.Sprintf("%s %s: %s", pod.Name, reason, note))
}

func (p *ownPlayer) close() {}

func (p *ownPlayer) Pod(namespace, name string) *v1.Pod { return p.pods[namespace+"/"+name] }

func (p *ownPlayer) change(pod *v1.Pod, f func(*v1.Pod) *v1.Pod) error {
	old := p.pods[podinfo.Name(pod)]
	if old == nil || old.UID != pod.UID {
		return scheduler.ErrGone
	}
	next := f(old)
	p.pods[podinfo.Name(pod)] = next
	p.s.UpdatePod(old, next)
	return nil
}

func (p *ownPlayer) Bind(_ context.Context, pod *v1.Pod, node string) error {
	return p.change(pod, func(old *v1.Pod) *v1.Pod {
		c := *old
		c.Spec.NodeName = node
		return &c
	})
}

func (p *ownPlayer) PatchStatus(_ context.Context, pod *v1.Pod, patch scheduler.StatusPatch) error {
	return p.change(pod, patch.Apply)
}

func (p *ownPlayer) PatchGroup(_ context.Context, g *own.Group, c metav1.Condition) error {
	next := *g
	next.Conditions = append(slices.DeleteFunc(slices.Clone(g.Conditions), func(x metav1.Condition) bool { return x.Type == c.Type }), c)
	p.groups[g.Name] = &next
	p.s.Set(g, &next)
	return nil
}

func (p *ownPlayer) Delete(_ context.Context, pod *v1.Pod) error {
	old := p.pods[podinfo.Name(pod)]
	if old == nil || old.UID != pod.UID {
		return scheduler.ErrGone
	}
	delete(p.pods, podinfo.Name(pod))
	p.s.DeletePod(old)
	return nil
}

func (p *ownPlayer) BindVolumes(context.Context, *v1.Pod, volumes.Decision) error {
	return errors.New("there are no volumes")
}

func (p *ownPlayer) WriteClaims(context.Context, *v1.Pod, scheduler.ClaimWrites) error {
	return nil
}
