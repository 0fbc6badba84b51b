package nopods

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/planning/workload"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/report"
)

// States of a workload.
const (
	refused  = "Refused"  // the API server refuses pods that its controller makes
	admitted = "Admitted" // the API server takes the pods that are missing: the controller, or something that podberth does not read, holds them back
	complete = "Complete" // no pod is missing
)

// answer is what is printed.
type answer struct {
	report.Head
	Workload string `json:"workload"` // as it was asked for, KIND/NAMESPACE/NAME
	// Refused: the API server refuses pods of the workload; Admitted: it takes them, so something that is not read holds them back;
	// Complete: no pod is missing.
	State   string `json:"state"`
	Pods    int    `json:"pods"`    // pods of the workload that have not ended
	Missing int    `json:"missing"` // pods that its controllers would make now
	Refused int    `json:"refused"` // of these the ones that the API server refuses
	Message string `json:"message"` // the first refusal, as the API server says it; "" for none
	Said    string `json:"said"`    // the answer in a sentence
	// Changes with which more of the pods come; each was made, and the API server was asked again. Those that let most pods in come
	// first.
	Fixes []fix `json:"fixes"`
}

// ask finds the workload and lets the API server look at the pods that it lacks.
func ask(o *dump.Objects, name string) (*answer, error) {
	x, err := find(o, name)
	if err != nil {
		return nil, err
	}
	a := &answer{Head: report.HeadOf("NoPods"), Workload: name, Pods: len(x.pods), Fixes: []fix{}}
	made, err := o.ExpandOf(x.only)
	if err != nil {
		return nil, err
	}
	a.Missing = len(made)
	let := x.admit(o, made)
	a.Refused = a.Missing - let.in
	switch {
	case a.Missing == 0:
		a.State, a.Said = complete, fmt.Sprintf("%s lacks no pod: it has %s%s", x, report.Count(a.Pods, "pod"), x.why())
		return a, nil
	case a.Refused == 0:
		a.State = admitted
		a.Said = fmt.Sprintf("%s lacks %s, and the API server takes them as far as podberth reads it: look at the events of its controller, at admission webhooks and at service accounts", x, report.Count(a.Missing, "pod"))
		return a, nil
	}
	a.State, a.Message = refused, let.text
	a.Said = fmt.Sprintf("%s lacks %s, and the API server refuses %d: %s", x, report.Count(a.Missing, "pod"), a.Refused, let.text)
	a.Fixes = x.fixes(o, made, let)
	return a, nil
}

// verdict is what the API server says about pods one after the other.
type verdict struct {
	in    int    // how many it takes
	text  string // the first refusal
	first *v1.Pod
}

// admit lets the API server look at new pods.
func (x *found) admit(o *dump.Objects, made []*v1.Pod) (v verdict) {
	fresh := map[*v1.Pod]bool{}
	for _, p := range made {
		fresh[p] = true
	}
	gate := o.Gate(dump.Checks{Options: admission.Options{}, Whole: true, New: func(p *v1.Pod) bool { return fresh[p] }})
	for _, p := range made {
		_, text := gate.Admit(p)
		if text == "" {
			v.in++
		} else if v.first == nil {
			v.text, v.first = text, p
		}
	}
	return v
}

// found is the workload that is asked about.
type found struct {
	kind   string
	object metav1.Object
	only   workload.Objects // it alone
	pods   []*v1.Pod        // that have not ended
}

func (x *found) String() string {
	return fmt.Sprintf("%s %s/%s", x.kind, x.object.GetNamespace(), x.object.GetName())
}

// why says why a workload without pods wants none, "" otherwise.
func (x *found) why() string {
	zero := func(n *int32) bool { return n != nil && *n == 0 }
	switch o := x.object.(type) {
	case *appsv1.Deployment:
		if zero(o.Spec.Replicas) {
			return ", and spec.replicas is 0"
		}
	case *appsv1.StatefulSet:
		if zero(o.Spec.Replicas) {
			return ", and spec.replicas is 0"
		}
	case *appsv1.ReplicaSet:
		if zero(o.Spec.Replicas) {
			return ", and spec.replicas is 0"
		}
	case *v1.ReplicationController:
		if zero(o.Spec.Replicas) {
			return ", and spec.replicas is 0"
		}
	case *batchv1.Job:
		if o.Spec.Suspend != nil && *o.Spec.Suspend {
			return ", and it is suspended"
		}
	case *batchv1.CronJob:
		if o.Spec.Suspend != nil && *o.Spec.Suspend {
			return ", and it is suspended"
		}
	}
	return ""
}

// find finds a workload by KIND/NAMESPACE/NAME, with what belongs to it.
func find(o *dump.Objects, name string) (*found, error) {
	parts := strings.Split(name, "/")
	if len(parts) != 3 {
		return nil, fmt.Errorf("-workload: Invalid value: %q: must be KIND/NAMESPACE/NAME, such as deployment/shop/web", name)
	}
	x := &found{}
	is := func(m metav1.Object) bool { return m.GetNamespace() == parts[1] && m.GetName() == parts[2] }
	switch strings.ToLower(parts[0]) {
	case "deployment":
		x.kind, x.only.Deployments = "Deployment", meant(x, o.Deployments, is)
	case "replicaset":
		x.kind, x.only.ReplicaSets = "ReplicaSet", meant(x, o.ReplicaSets, is)
	case "statefulset":
		x.kind, x.only.StatefulSets = "StatefulSet", meant(x, o.StatefulSets, is)
	case "replicationcontroller":
		x.kind, x.only.ReplicationControllers = "ReplicationController", meant(x, o.ReplicationControllers, is)
	case "daemonset":
		x.kind, x.only.DaemonSets = "DaemonSet", meant(x, o.DaemonSets, is)
	case "job":
		x.kind, x.only.Jobs = "Job", meant(x, o.Jobs, is)
	case "cronjob":
		x.kind, x.only.CronJobs = "CronJob", meant(x, o.CronJobs, is)
	default:
		return nil, fmt.Errorf("-workload: Unsupported value: %q: supported values: deployment, replicaset, statefulset, replicationcontroller, daemonset, job, cronjob", parts[0])
	}
	if x.object == nil {
		return nil, fmt.Errorf("-workload: Not found: %q: no %s of that namespace and name", parts[1]+"/"+parts[2], x.kind)
	}
	of := map[string]bool{x.kind + "/" + parts[2]: true}
	owned := func(m metav1.Object) bool {
		c := metav1.GetControllerOf(m)
		return m.GetNamespace() == parts[1] && c != nil && of[c.Kind+"/"+c.Name]
	}
	for _, s := range o.ReplicaSets {
		if owned(s) {
			x.only.ReplicaSets = append(x.only.ReplicaSets, s)
		}
	}
	for _, j := range o.Jobs {
		if owned(j) {
			x.only.Jobs = append(x.only.Jobs, j)
		}
	}
	for _, s := range x.only.ReplicaSets {
		of["ReplicaSet/"+s.Name] = true
	}
	for _, j := range x.only.Jobs {
		of["Job/"+j.Name] = true
	}
	x.only.Autoscalers = o.Autoscalers
	x.pods = slices.DeleteFunc(slices.Clone(o.Pods), func(p *v1.Pod) bool { return !owned(p) || cluster.Finished(p) })
	return x, nil
}

// meant returns the object that is meant as a list, and keeps it.
func meant[P metav1.Object](x *found, list []P, is func(metav1.Object) bool) []P {
	for _, o := range list {
		if is(o) {
			x.object = o
			return []P{o}
		}
	}
	return nil
}

// write writes the answer as text.
func (a *answer) write(out *strings.Builder, l report.Layout) {
	out.WriteString(l.Text("", a.Said))
	for _, f := range a.Fixes {
		out.WriteString(l.Text("Do: ", f.Text))
	}
	if a.State == refused && len(a.Fixes) == 0 {
		out.WriteString(l.Text("", "No change that was tried lets more pods in."))
	}
}
