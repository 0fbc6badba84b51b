package diagnose

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/diagnose/near"
	"github.com/podberth/podberth/internal/must"
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
// the class whose name looks alike, or a quota of the amount that is used then, when the pod gets a node; nil otherwise. Cost: one decision. The
// errors are those of [Relax] about [Input].
func Refused(in Input, pod *v1.Pod, text string) (cause *Cause, r *Remedy, err error) {
	defer must.Catch(&err)
	if in.Snapshot == nil {
		return nil, nil, ErrNoSnapshot
	}
	owner := ownerOf(in.Snapshot, pod)
	cause = &Cause{Type: causeRefused, Object: owner.String(), Text: "the API server refuses it: " + text}
	if m := refusedFor.FindStringSubmatch(text); m != nil {
		text = m[1]
		cause.Text = "the API server refuses it: " + text
	}
	switch {
	case overQuota.MatchString(text):
		m := overQuota.FindStringSubmatch(text)
		return cause, ofQuota(in, pod, cause, m), nil
	case needsOfQuota.MatchString(text):
		m := needsOfQuota.FindStringSubmatch(text)
		cause.Field, cause.Wanted = owner.path+"spec.containers", m[2]
		cause.Text = fmt.Sprintf("quota %s refuses pods without %s", m[1], strings.Replace(m[2], " for: ", " of container ", 1))
	case noClass.MatchString(text):
		return cause, ofClass(in, pod, cause, owner, noClass.FindStringSubmatch(text)[1]), nil
	case noRuntimeClass.MatchString(text):
		cause.Field, cause.Wanted = owner.path+"spec.runtimeClassName", noRuntimeClass.FindStringSubmatch(text)[1]
		cause.Text = "there is no RuntimeClass " + cause.Wanted
	}
	return cause, nil, nil
}

// ofClass fills in the cause of a priority class that does not exist. The remedy is the class whose name looks most alike.
func ofClass(in Input, pod *v1.Pod, cause *Cause, owner owner, name string) *Remedy {
	classes := slices.Collect(cluster.List[*schedulingv1.PriorityClass](in.Snapshot).All())
	var names []string
	for _, c := range classes {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	cause.Field, cause.Wanted, cause.Found = owner.path+"spec.priorityClassName", name, few(names)
	cause.Text = "there is no PriorityClass " + name
	like := near.Names(name, names)
	if len(like) == 0 {
		if len(names) > 0 {
			cause.Text += " (" + cause.Found + " " + verb(len(names), "exists", "exist") + ")"
		}
		return nil
	}
	cause.Found = like[0]
	cause.Text += "; near: " + strings.Join(like, ", ")
	c := Change{Kind: Mend, Object: owner.String(), Path: cause.Field, From: name, To: like[0], Again: owner.again, pod: pod, edit: func(p *v1.Pod, _ int64) { p.Spec.PriorityClassName = like[0] }}
	edited := pod.DeepCopy()
	c.edit(edited, 0)
	admitted, err := admission.AdmitPriority(edited, classes)
	if err != nil {
		return nil
	}
	return goes(in, admitted, c)
}

// ofQuota fills in the cause of a quota that is used up. The remedy is a larger quota.
func ofQuota(in Input, pod *v1.Pod, cause *Cause, m []string) *Remedy {
	over, used, hard := strings.Split(m[2], ","), strings.Split(m[3], ","), strings.Split(m[4], ",")
	name, asked, _ := strings.Cut(over[0], "=")
	_, has, _ := strings.Cut(used[0], "=")
	_, most, _ := strings.Cut(hard[0], "=")
	cause.Object, cause.Field, cause.Wanted, cause.Found = "ResourceQuota "+pod.Namespace+"/"+m[1], "spec.hard["+name+"]", asked, has+" of "+most+" used"
	cause.Text = fmt.Sprintf("quota %s: %s %s of %s used, asks for %s", m[1], name, has, most, asked)
	sum, err := resource.ParseQuantity(has)
	more, err2 := resource.ParseQuantity(asked)
	if err != nil || err2 != nil || len(over) > 1 {
		return nil
	}
	sum.Add(more)
	return goes(in, pod, Change{Kind: RaiseBudget, Object: cause.Object, Path: cause.Field, From: most, To: sum.String()})
}

// goes returns the remedy of a change with which the API server takes the pod, nil when the pod gets no node then.
func goes(in Input, pod *v1.Pod, c Change) *Remedy {
	d := must.Get(placement.New(in.Snapshot, must.Get(profileOf(in)))).Decide(pod, placement.Options{})
	if !d.Placed() {
		return nil
	}
	return &Remedy{Changes: []Change{c}, Node: d.Node, Run: 1, Of: 1, Text: fmt.Sprintf("%s: then it goes to %s", c.Text(), d.Node)}
}
