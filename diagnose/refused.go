package diagnose

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/diagnose/near"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
)

// The texts of the API server about a pod that it refuses.
var (
	refusedFor     = regexp.MustCompile(`^pods "[^"]*" is forbidden: (.*)$`)
	overQuota      = regexp.MustCompile(`^exceeded quota: ([^,]+), requested: ([^ ]+), used: ([^ ]+), limited: ([^ ]+)$`)
	needsOfQuota   = regexp.MustCompile(`^failed quota: ([^:]+): must specify (.+)$`)
	noClass        = regexp.MustCompile(`^no PriorityClass with name (\S+) was found$`)
	noRuntimeClass = regexp.MustCompile(`^pod rejected: RuntimeClass "([^"]+)" not found$`)
)

// Refused returns the cause of a pod that the API server refuses with a text, such as those of package admission and of an admission controller:
// such a pod does not exist, and no scheduler waits for it. A quota is named with its numbers, a class with the names that exist. The remedy is
// the class that is most likely meant, or a quota of the amount that is used then, when the pod gets a node; nil otherwise. The siblings are other
// pods of its owner, and the API server refuses them with the same text. The remedy is for all of them. It counts the pods of the owner that
// run, that wait in Input.Pending, and that are refused. Cost: a decision for each pod that waits. The errors are those of [Relax] about [Input].
func Refused(in Input, pod *v1.Pod, text string, siblings ...*v1.Pod) (cause *Cause, r *Remedy, err error) {
	defer must.Catch(&err)
	if in.Snapshot == nil {
		return nil, nil, errNoSnapshot
	}
	owner := ownerOf(in.Snapshot, pod)
	x := refused{in: in, owner: owner, pods: append([]*v1.Pod{pod}, siblings...)}
	cause = &Cause{Type: causeRefused, Object: owner.String(), Text: "the API server refuses it: " + text}
	if m := refusedFor.FindStringSubmatch(text); m != nil {
		text = m[1]
		cause.Text = "the API server refuses it: " + text
	}
	switch {
	case overQuota.MatchString(text):
		m := overQuota.FindStringSubmatch(text)
		return cause, x.ofQuota(cause, m), nil
	case needsOfQuota.MatchString(text):
		m := needsOfQuota.FindStringSubmatch(text)
		cause.Field, cause.Wanted = owner.path+"spec.containers", m[2]
		cause.Text = fmt.Sprintf("quota %s refuses pods without %s", m[1], strings.Replace(m[2], " for: ", " of container ", 1))
	case noClass.MatchString(text):
		return cause, x.ofClass(cause, noClass.FindStringSubmatch(text)[1]), nil
	case noRuntimeClass.MatchString(text):
		cause.Field, cause.Wanted = owner.path+"spec.runtimeClassName", noRuntimeClass.FindStringSubmatch(text)[1]
		cause.Text = "there is no RuntimeClass " + cause.Wanted
	}
	return cause, nil, nil
}

// refused are the pods of an owner that the API server refuses with one text.
type refused struct {
	in    Input
	owner owner
	pods  []*v1.Pod
}

// count returns how many pods are refused. Input.More may count one pod as several.
func (x *refused) count() int {
	n := len(x.pods)
	for _, p := range x.pods {
		if x.in.More != nil {
			n += x.in.More(p)
		}
	}
	return n
}

// ofClass fills in the cause of a priority class that does not exist. The remedy is the class that is most likely meant.
func (x *refused) ofClass(cause *Cause, name string) *Remedy {
	classes := slices.Collect(cluster.List[*schedulingv1.PriorityClass](x.in.Snapshot).All())
	var names []string
	for _, c := range classes {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	cause.Field, cause.Wanted, cause.Found = x.owner.path+"spec.priorityClassName", name, few(names)
	cause.Text = "there is no PriorityClass " + name
	meant, ok := near.Meant(name, names)
	if !ok {
		if len(names) > 0 {
			cause.Text += " (" + cause.Found + " " + verb(len(names), "exists", "exist") + ")"
		}
		return nil
	}
	cause.Found = meant
	cause.Text += "; near: " + meant
	c := Change{Kind: Mend, Object: x.owner.String(), Path: cause.Field, From: name, To: meant, Again: x.owner.again, pod: x.pods[0], edit: func(p *v1.Pod, _ int64) { p.Spec.PriorityClassName = meant }}
	var admitted []*v1.Pod
	for _, p := range x.pods {
		edited := p.DeepCopy()
		if edited.Spec.PriorityClassName == name {
			c.edit(edited, 0)
		}
		if edited, err := admission.AdmitPriority(edited, classes); err == nil {
			admitted = append(admitted, edited)
		}
	}
	if len(admitted) == 0 {
		return nil
	}
	return x.goes(admitted, c)
}

// ofQuota fills in the cause of a quota that is used up. The remedy is a quota that is large enough for all the pods, in each amount.
func (x *refused) ofQuota(cause *Cause, m []string) *Remedy {
	over, used, hard := strings.Split(m[2], ","), strings.Split(m[3], ","), strings.Split(m[4], ",")
	if len(used) != len(over) || len(hard) != len(over) {
		return nil
	}
	var changes []Change
	for k := range over {
		name, asked, _ := strings.Cut(over[k], "=")
		_, has, _ := strings.Cut(used[k], "=")
		_, most, _ := strings.Cut(hard[k], "=")
		if k == 0 {
			cause.Object, cause.Field, cause.Wanted, cause.Found = "ResourceQuota "+x.pods[0].Namespace+"/"+m[1], "spec.hard["+name+"]", asked, has+" of "+most+" used"
			cause.Text = fmt.Sprintf("quota %s: ", m[1])
		} else {
			cause.Text += "; "
		}
		cause.Text += fmt.Sprintf("%s %s of %s used, asks for %s", name, has, most, asked)
		sum, err := resource.ParseQuantity(has)
		more, err2 := resource.ParseQuantity(asked)
		if err != nil || err2 != nil {
			return nil
		}
		more.Mul(int64(x.count()))
		sum.Add(more)
		changes = append(changes, Change{Kind: RaiseBudget, Object: cause.Object, Path: "spec.hard[" + name + "]", From: most, To: sum.String()})
	}
	return x.goes(x.pods, changes...)
}

// goes returns the remedy of changes with which the API server takes the pods, nil when the first gets no node then. They are tried behind the
// pods that wait and are as important.
func (x *refused) goes(pods []*v1.Pod, changes ...Change) *Remedy {
	profile := must.Get(profileOf(x.in))
	s := x.in.Snapshot.Fork()
	d := &diagnosis{base: s, pod: pods[0], owner: x.owner, controller: metav1.GetControllerOfNoCopy(pods[0])}
	placer := must.Get(placement.NewPlacer(s, profile))
	mine := map[*v1.Pod]bool{}
	var queue []*v1.Pod
	o := outcome{of: x.count()}
	for _, p := range x.in.Pending {
		if p == nil || p.Name == pods[0].Name && p.Namespace == pods[0].Namespace || len(p.Spec.SchedulingGates) > 0 || !queued(s, &profile, p) {
			continue
		}
		queue = append(queue, p)
		if mine[p] = d.sibling(p); mine[p] {
			o.of++
			if x.in.More != nil {
				o.of += x.in.More(p)
			}
		}
	}
	for _, i := range s.Order() {
		for p := range s.Pods(int(i)) {
			if d.sibling(p) && p.DeletionTimestamp == nil {
				o.of, o.run = o.of+1, o.run+1
			}
		}
	}
	for _, p := range pods {
		at := len(queue)
		for at > 0 && podinfo.Priority(queue[at-1]) < podinfo.Priority(p) {
			at--
		}
		queue, mine[p] = slices.Insert(queue, at, p), true
	}
	if len(queue) > mostQueued {
		queue, o.of, o.run, o.uncounted = pods[:1], 1, 0, true
	}
	for _, p := range queue {
		dec := placer.Decide(p, placement.Options{})
		if !dec.Placed() {
			continue
		}
		must.Do(placer.Assume(p, dec))
		if mine[p] {
			o.run++
		}
		if p == pods[0] {
			o.node = dec.Node
		}
	}
	if o.node == "" {
		return nil
	}
	return &Remedy{Changes: changes, Node: o.node, Run: o.run, Of: o.of, Text: Relaxation{Changes: changes}.Text() + o.then(false)}
}
