package podgroup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	cpgapi "k8s.io/api/scheduling/v1alpha3"
	pgapi "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"

	"github.com/podberth/podberth/internal/testkit/situation"
	own "github.com/podberth/podberth/podgroup"
)

// patience is how long a cycle of kube-scheduler may take with everything that follows from it.
const patience = time.Minute

// diary records events.
type diary struct {
	mu     sync.Mutex
	events []string // "<reason> <pod>"
	notes  []string // the same with the notes
	pause  time.Duration
}

func (d *diary) Eventf(about, _ runtime.Object, _, reason, _, note string, args ...any) {
	time.Sleep(d.pause)
	d.mu.Lock()
	defer d.mu.Unlock()
	if m, ok := about.(metav1.Object); ok {
		d.events = append(d.events, reason+" "+m.GetName())
		d.notes = append(d.notes, fmt.Sprintf("%s %s: %s", m.GetName(), reason, fmt.Sprintf(note, args...)))
	}
}

func (d *diary) WithLogger(klog.Logger) events.EventRecorderLogger { return d }

func (d *diary) has(event string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Contains(d.events, event)
}

// switchGates turns on the gates of a situation. Without async deletions of victims are part of the cycle, so that nothing goes on behind it.
// nil turns groups off.
func switchGates(g *own.Gates, async bool) error {
	on := g != nil
	if !on {
		g = &own.Gates{}
	}
	gates := map[string]bool{
		"GenericWorkload": on, "TopologyAwareWorkloadScheduling": g.Topology, "CompositePodGroup": g.Composites,
		"PodGroupPreemptionPolicy": g.PreemptionPolicy, "DRAWorkloadResourceClaims": g.Claims, "SchedulerAsyncPreemption": async,
	}
	return utilfeature.DefaultMutableFeatureGate.SetFromMap(gates)
}

func apiGroup(g *own.Group) *pgapi.PodGroup {
	out := &pgapi.PodGroup{ObjectMeta: g.ObjectMeta}
	out.Spec.Priority = g.Priority
	if g.Parent != "" {
		out.Spec.ParentCompositePodGroupName = &g.Parent
	}
	if g.Minimum != nil {
		out.Spec.SchedulingPolicy.Gang = &pgapi.GangSchedulingPolicy{MinCount: *g.Minimum}
	} else {
		out.Spec.SchedulingPolicy.Basic = &pgapi.BasicSchedulingPolicy{}
	}
	if g.Constraints != nil {
		out.Spec.SchedulingConstraints = &pgapi.PodGroupSchedulingConstraints{}
		for _, key := range g.Constraints.Topology {
			out.Spec.SchedulingConstraints.Topology = append(out.Spec.SchedulingConstraints.Topology, pgapi.TopologyConstraint{Key: key})
		}
	}
	out.Spec.DisruptionMode = &pgapi.DisruptionMode{Single: &pgapi.SingleDisruptionMode{}}
	if g.DisruptAll {
		out.Spec.DisruptionMode = &pgapi.DisruptionMode{All: &pgapi.AllDisruptionMode{}}
	}
	if g.PreemptionPolicy != nil {
		p := pgapi.PreemptionPolicy(*g.PreemptionPolicy)
		out.Spec.PreemptionPolicy = &p
	}
	for _, c := range g.Claims {
		entry := pgapi.PodGroupResourceClaim{Name: c.Name}
		if c.ClaimName != "" {
			entry.ResourceClaimName = &c.ClaimName
		} else {
			entry.ResourceClaimTemplateName = &c.TemplateName
		}
		out.Spec.ResourceClaims = append(out.Spec.ResourceClaims, entry)
		if c.Generated != nil {
			made := pgapi.PodGroupResourceClaimStatus{Name: c.Name}
			if *c.Generated != "" {
				made.ResourceClaimName = c.Generated
			}
			out.Status.ResourceClaimStatuses = append(out.Status.ResourceClaimStatuses, made)
		}
	}
	return out
}

func apiComposite(c *own.Composite) *cpgapi.CompositePodGroup {
	out := &cpgapi.CompositePodGroup{ObjectMeta: c.ObjectMeta}
	out.Spec.Priority = c.Priority
	if c.Parent != "" {
		out.Spec.ParentCompositePodGroupName = &c.Parent
	}
	if c.Minimum != nil {
		out.Spec.SchedulingPolicy.Gang = &cpgapi.CompositeGangSchedulingPolicy{MinGroupCount: *c.Minimum}
	} else {
		out.Spec.SchedulingPolicy.Basic = &cpgapi.CompositeBasicSchedulingPolicy{}
	}
	if c.Constraints != nil {
		out.Spec.SchedulingConstraints = &cpgapi.CompositePodGroupSchedulingConstraints{}
		for _, key := range c.Constraints.Topology {
			out.Spec.SchedulingConstraints.Topology = append(out.Spec.SchedulingConstraints.Topology, cpgapi.TopologyConstraint{Key: key})
		}
	}
	out.Spec.DisruptionMode = &cpgapi.CompositeDisruptionMode{Single: &cpgapi.SingleCompositeDisruptionMode{}}
	if c.DisruptAll {
		out.Spec.DisruptionMode = &cpgapi.CompositeDisruptionMode{All: &cpgapi.AllCompositeDisruptionMode{}}
	}
	if c.PreemptionPolicy != nil {
		p := cpgapi.PreemptionPolicy(*c.PreemptionPolicy)
		out.Spec.PreemptionPolicy = &p
	}
	return out
}

// theirs is what one cycle of kube-scheduler does with a situation.
func theirs(s *situation.Situation) (string, error) {
	if err := switchGates(&s.Gates, false); err != nil {
		return "", err
	}
	klog.SetLogger(logr.Discard())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var objects []runtime.Object
	for _, n := range s.Nodes {
		objects = append(objects, n.DeepCopy())
	}
	for _, g := range s.Groups {
		objects = append(objects, apiGroup(g))
	}
	for _, c := range s.Composites {
		objects = append(objects, apiComposite(c))
	}
	for _, p := range s.Running {
		objects = append(objects, p.DeepCopy())
	}
	for _, b := range s.Budgets {
		objects = append(objects, b.DeepCopy())
	}
	objects = append(objects, situation.Class())
	for _, x := range s.Slices {
		objects = append(objects, x.DeepCopy())
	}
	for _, c := range s.Claims {
		c = c.DeepCopy()
		c.ResourceVersion = "1"
		objects = append(objects, c)
	}
	client := fake.NewSimpleClientset(objects...)
	client.PrependReactor("create", "pods", bind(client))
	client.PrependReactor("update", "resourceclaims", once(client))
	factory := scheduler.NewInformerFactory(client, 0, nil)
	diary := &diary{}
	sched, err := scheduler.New(ctx, client, factory, nil, func(string) events.EventRecorderLogger { return diary }, scheduler.WithParallelism(1))
	if err != nil {
		return "", err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	if err := sched.WaitForHandlersSync(ctx); err != nil {
		return "", err
	}
	sched.SchedulingQueue.Run(klog.FromContext(ctx))
	defer sched.SchedulingQueue.Close()
	for k, p := range s.Queued {
		if _, err := client.CoreV1().Pods(p.Namespace).Create(ctx, p.DeepCopy(), metav1.CreateOptions{}); err != nil {
			return "", err
		}
		if !wait(func() bool { pods, _ := sched.SchedulingQueue.PendingPods(); return len(pods) == k+1 }) {
			return "", fmt.Errorf("the queue has not got %s", p.Name)
		}
	}
	if !wait(func() bool { return len(sched.SchedulingQueue.PodsInActiveQ()) > 0 }) {
		return "", fmt.Errorf("nothing is active")
	}
	sched.ScheduleOne(ctx)
	shown, done, groups := "", false, leaves(s)
	wait(func() bool { shown, done = outcome(ctx, client, diary, s, groups); return done })
	if !done {
		return "", fmt.Errorf("the cycle has not ended: %s", shown)
	}
	return shown, nil
}

// bind carries out the creation of a binding.
func bind(client *fake.Clientset) ktesting.ReactionFunc {
	return func(a ktesting.Action) (bool, runtime.Object, error) {
		if a.GetSubresource() != "binding" {
			return false, nil, nil
		}
		b := a.(ktesting.CreateAction).GetObject().(*v1.Binding)
		pods := v1.SchemeGroupVersion.WithResource("pods")
		o, err := client.Tracker().Get(pods, b.Namespace, b.Name)
		if err != nil {
			return true, nil, err
		}
		p := o.(*v1.Pod).DeepCopy()
		p.Spec.NodeName = b.Target.Name
		p.ResourceVersion += "1"
		return true, b, client.Tracker().Update(pods, p, b.Namespace)
	}
}

// once carries out writes of claims. As an API server does, it refuses to take an allocation from a claim that was written meanwhile. Other
// writes are not refused: which member of a group writes a shared claim first is chance.
func once(client *fake.Clientset) ktesting.ReactionFunc {
	return func(a ktesting.Action) (bool, runtime.Object, error) {
		c := a.(ktesting.UpdateAction).GetObject().(*resourcev1.ResourceClaim)
		o, err := client.Tracker().Get(a.GetResource(), c.Namespace, c.Name)
		if err != nil {
			return true, nil, err
		}
		is := o.(*resourcev1.ResourceClaim)
		if c.Status.Allocation == nil && c.ResourceVersion != is.ResourceVersion {
			return true, nil, apierrors.NewConflict(a.GetResource().GroupResource(), c.Name, errors.New("the object has been modified; please apply your changes to the latest version and try again"))
		}
		c = c.DeepCopy()
		c.ResourceVersion = is.ResourceVersion + "1"
		return true, c, client.Tracker().Update(a.GetResource(), c, c.Namespace)
	}
}

// wait asks until the answer is yes. It reports false when it has lost patience.
func wait(ask func() bool) bool {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); time.Now().Before(end); <-tick.C {
		if ask() {
			return true
		}
	}
	return false
}

// outcome prints what the cycle has written so far, and whether that is all.
func outcome(ctx context.Context, client *fake.Clientset, d *diary, s *situation.Situation, groups []*own.Group) (string, bool) {
	var lines []string
	done := true
	for _, q := range s.Queued {
		p, err := client.CoreV1().Pods(q.Namespace).Get(ctx, q.Name, metav1.GetOptions{})
		if err != nil {
			return err.Error(), false
		}
		line := ""
		switch c := condition(p); {
		case p.Spec.NodeName != "":
			lines = append(lines, p.Name+" -> "+p.Spec.NodeName+shares(s, q))
			continue
		case q.DeletionTimestamp != nil && c == nil && d.has("FailedScheduling "+p.Name):
			line = p.Name + " dropped"
		case c == nil:
			done = false
			continue
		case c.Reason == "SchedulerError":
			line = p.Name + " ERR " + c.Message
		default:
			line = p.Name + ": " + c.Message
		}
		done = done && d.has("FailedScheduling "+p.Name)
		if n := p.Status.NominatedNodeName; n != "" {
			line += " @" + n
		}
		lines = append(lines, line)
	}
	for _, g := range groups {
		x, err := client.SchedulingV1beta1().PodGroups(g.Namespace).Get(ctx, g.Name, metav1.GetOptions{})
		if err != nil {
			return err.Error(), false
		}
		at := slices.IndexFunc(x.Status.Conditions, func(c metav1.Condition) bool { return c.Type == own.InitiallyScheduled })
		if at < 0 {
			done = false
			continue
		}
		lines = append(lines, groupLine(g.Name, x.Status.Conditions[at].Reason, x.Status.Conditions[at].Message))
	}
	var gone []string
	for _, p := range s.Running {
		if d.has("Preempted " + p.Name) {
			gone = append(gone, p.Name)
		}
	}
	slices.Sort(gone)
	return strings.Join(lines, "\n") + "\nleave: " + strings.Join(gone, " ") + given(s, func(c *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
		now, err := client.ResourceV1().ResourceClaims(c.Namespace).Get(ctx, c.Name, metav1.GetOptions{})
		if err != nil {
			return c
		}
		return now
	}), done
}

func condition(p *v1.Pod) *v1.PodCondition {
	for k := range p.Status.Conditions {
		if p.Status.Conditions[k].Type == v1.PodScheduled {
			return &p.Status.Conditions[k]
		}
	}
	return nil
}

func groupLine(name, reason, message string) string {
	switch reason {
	case own.ReasonScheduled:
		return name + " True"
	case own.ReasonSchedulerError:
		return name + " ERR " + message
	}
	return name + ": " + message
}
