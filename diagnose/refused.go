package diagnose

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/diagnose/near"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
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
// such a pod does not exist, and no scheduler waits for it. A quota is named with its numbers, a class with the names that exist, a field with its value
// and what is allowed. The remedies, at most three, are the class that is most likely meant, amounts that a quota or a LimitRange takes, a larger quota,
// and fewer pods. With each the pod gets a node, or the owner needs no more pods. The siblings are other pods of its owner, and the API server refuses
// them with the same text. A remedy is for all of them. It counts the pods of the owner that run, that wait in Input.Pending, and that are refused.
// Cost: some decisions for each pod that waits. The errors are those of [Relax] about [Input].
func Refused(in Input, pod *v1.Pod, text string, siblings ...*v1.Pod) (cause *Cause, remedies []Remedy, err error) {
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
		x.ofQuota(cause, overQuota.FindStringSubmatch(text))
	case needsOfQuota.MatchString(text):
		m := needsOfQuota.FindStringSubmatch(text)
		cause.Field, cause.Wanted = owner.path+"spec.containers", m[2]
		cause.Text = fmt.Sprintf("quota %s refuses pods without %s", m[1], demands(m[2]))
		x.demanded(m[2])
	case ofLimitRange.MatchString(text):
		x.ofLimitRange(cause, text)
	case noClass.MatchString(text):
		x.ofPriorityClass(cause, noClass.FindStringSubmatch(text)[1])
	case noRuntimeClass.MatchString(text):
		x.ofRuntimeClass(cause, noRuntimeClass.FindStringSubmatch(text)[1])
	case invalidObject.MatchString(text):
		m := invalidObject.FindStringSubmatch(text)
		x.ofFields(cause, m[1], m[2])
	}
	return cause, x.out[:min(len(x.out), mostAdvice)], nil
}

// demands says what a quota demands: "limits.cpu for: a,b; memory for: b" is "limits.cpu of containers a and b, memory of container b".
func demands(text string) string {
	var out []string
	for part := range strings.SplitSeq(text, "; ") {
		name, list, _ := strings.Cut(part, " for: ")
		containers := strings.Split(list, ",")
		out = append(out, name+" of "+verb(len(containers), "container", "containers")+" "+joined(containers))
	}
	return strings.Join(out, ", ")
}

// refused are the pods of an owner that the API server refuses with one text.
type refused struct {
	in    Input
	owner owner
	pods  []*v1.Pod
	out   []Remedy
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

// ofPriorityClass fills in the cause of a priority class that does not exist.
func (x *refused) ofPriorityClass(cause *Cause, name string) {
	classes := slices.Collect(cluster.List[*schedulingv1.PriorityClass](x.in.Snapshot).All())
	var names []string
	for _, c := range classes {
		names = append(names, c.Name)
	}
	x.ofClass(cause, "PriorityClass", name, names, func(p *v1.Pod, meant string) {
		p.Spec.PriorityClassName = meant
		if admitted, err := admission.AdmitPriority(p, classes); err == nil {
			*p = *admitted
		}
	})
}

// ofRuntimeClass fills in the cause of a RuntimeClass that does not exist.
func (x *refused) ofRuntimeClass(cause *Cause, name string) {
	var names []string
	for _, c := range x.in.RuntimeClasses {
		if c != nil {
			names = append(names, c.Name)
		}
	}
	x.ofClass(cause, "RuntimeClass", name, names, func(p *v1.Pod, meant string) { p.Spec.RuntimeClassName = &meant })
}

// ofClass fills in the cause of a class that does not exist. The remedy is the class that is most likely meant.
func (x *refused) ofClass(cause *Cause, kind, name string, names []string, set func(p *v1.Pod, meant string)) {
	slices.Sort(names)
	path := "spec." + strings.ToLower(kind[:1]) + kind[1:] + "Name"
	cause.Field, cause.Wanted, cause.Found = x.owner.path+path, name, few(names)
	cause.Text = "there is no " + kind + " " + name
	meant, ok := near.Meant(name, names)
	if !ok {
		if len(names) > 0 {
			cause.Text += " (" + cause.Found + " " + verb(len(names), "exists", "exist") + ")"
		}
		return
	}
	cause.Found = meant
	cause.Text += "; near: " + meant
	c := x.change(Mend, path, name, meant)
	c.edit = func(p *v1.Pod, _ int64) { set(p, meant) }
	x.tries([]Change{c})
}

// change returns a change of the owner.
func (x *refused) change(kind Kind, path, from, to string) Change {
	if strings.HasPrefix(path, "spec.") {
		path = x.owner.path + path
	}
	return Change{Kind: kind, Object: x.owner.String(), Path: path, From: from, To: to, Again: x.owner.again, pod: x.pods[0]}
}

// ofQuota fills in the cause of a quota that is used up. The remedies are lower amounts, and quotas that are large enough for all the pods, in each amount.
func (x *refused) ofQuota(cause *Cause, m []string) {
	list := spentOf(m)
	var lower []shortOf
	for k, s := range list {
		if k == 0 {
			cause.Object, cause.Field, cause.Wanted, cause.Found = "ResourceQuota "+x.pods[0].Namespace+"/"+s.quota, "spec.hard["+s.name+"]", s.texts[0], s.texts[1]+" of "+s.texts[2]+" used"
			cause.Text = fmt.Sprintf("quota %s: ", s.quota)
		} else {
			cause.Text += "; "
		}
		cause.Text += fmt.Sprintf("%s %s of %s used, asks for %s", s.name, s.texts[1], s.texts[2], s.texts[0])
		left := s.hard.DeepCopy()
		left.Sub(s.used)
		lower = append(lower, shortOf{s.name, s.asked, left})
	}
	if len(list) == 0 {
		return
	}
	cause.Not = "a higher priority: no pod gives way to one that does not exist"
	x.lowered(lower)
	x.raised(list)
	x.fewer(cause)
}

// tries adds the remedy of changes of the owner with which the API server takes all the pods.
func (x *refused) tries(changes []Change) bool { return x.accepts(changes) && x.goes(changes) }

// accepts reports whether the API server takes all the pods with changes, as far as the input can say.
func (x *refused) accepts(changes []Change) bool {
	if x.in.Accept == nil {
		return true
	}
	return x.count() <= mostQueued && x.in.Accept(x.all(changes), nil) == nil
}

// all returns the pods with changes, each as often as Input.More says, at most mostQueued.
func (x *refused) all(changes []Change) (out []*v1.Pod) {
	for _, p := range x.pods {
		n := 1
		if x.in.More != nil {
			n += x.in.More(p)
		}
		for range min(n, mostQueued-len(out)) {
			out = append(out, edited(p, changes))
		}
	}
	return out
}

// begin returns the question about the first refused pod. The refused pods are tried after pending pods of the same or a higher priority.
func (x *refused) begin(changes []Change) *diagnosis {
	in, mine := x.in, map[string]bool{}
	for _, p := range x.pods {
		mine[podinfo.Name(p)] = true
	}
	in.Pending = slices.DeleteFunc(slices.Clone(in.Pending), func(p *v1.Pod) bool { return p == nil || mine[podinfo.Name(p)] })
	at, priority := len(in.Pending), podinfo.Priority(edited(x.pods[0], changes))
	for at > 0 && podinfo.Priority(in.Pending[at-1]) < priority {
		at--
	}
	in.Pending = slices.Insert(in.Pending, at, x.pods...)
	d := must.Get(begin(in, x.pods[0], Options{}))
	d.unmade = x.pods
	return d
}

// goes adds the remedy of changes with which the API server takes the pods, and reports whether the first gets a node then.
func (x *refused) goes(changes []Change) bool {
	o := x.begin(changes).prove(changes)
	if o.node == "" {
		return false
	}
	r := Remedy{Changes: changes, Node: o.node, Run: o.run, Of: o.of, Also: o.also, Text: Relaxation{Changes: changes}.Text() + o.then(false)}
	if len(o.also) > 0 {
		r.Text += "; also: " + strings.Join(o.also, ", ")
	}
	x.out = append(x.out, r)
	return true
}

// fewer adds the remedy that the owner has no more pods than run.
func (x *refused) fewer(cause *Cause) {
	d := x.begin(nil)
	d.cause = cause
	c, ok := d.fewer()
	if !ok || d.crew.waiting() != x.count() {
		return
	}
	n := len(d.crew.running)
	text := fmt.Sprintf("%s: then %d of %d %s", c.Text(), n, n, verb(n, "runs", "run"))
	if c.Path == "spec.parallelism" {
		text = c.Text() + ": " + d.scaled(c).gone
	}
	x.out = append(x.out, Remedy{Changes: []Change{c}, Run: n, Of: n, Text: text})
}
