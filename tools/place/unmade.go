package place

import (
	"fmt"
	"regexp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/planning/workload"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/internal/must"
)

// This file is about pods that an owner lacks because the API server has refused them: the status of their controller says so.

// failedCreate is the reason of the condition ReplicaFailure of a controller whose pods the API server refuses.
const failedCreate = "FailedCreate"

// ofPods is the name of the pod in a text of the API server.
var ofPods = regexp.MustCompile(`^pods "([^"]+)" `)

// unmade makes the pods that an owner lacks, and that the API server has refused, refused pods of the input. It returns the name of the first,
// "" when the owner lacks none, or when no controller of the owner says that they were refused.
func (w *world) unmade(kind, owner, namespace string) string {
	of := workload.Objects{}
	text := ""
	says := func(reason, message string, is bool) {
		if is && reason == failedCreate && text == "" {
			text = message
		}
	}
	named := func(o metav1.Object) bool { return o.GetNamespace() == namespace && o.GetName() == owner }
	for _, set := range w.objects.ReplicaSets {
		by := metav1.GetControllerOfNoCopy(set)
		if kind == "ReplicaSet" && named(set) || kind == "Deployment" && set.Namespace == namespace && by != nil && by.Kind == kind && by.Name == owner {
			of.ReplicaSets = append(of.ReplicaSets, set)
			for _, c := range set.Status.Conditions {
				says(c.Reason, c.Message, c.Type == appsv1.ReplicaSetReplicaFailure && c.Status == v1.ConditionTrue)
			}
		}
	}
	for _, d := range w.objects.Deployments {
		if kind == "Deployment" && named(d) {
			of.Deployments = append(of.Deployments, d)
			for _, c := range d.Status.Conditions {
				says(c.Reason, c.Message, c.Type == appsv1.DeploymentReplicaFailure && c.Status == v1.ConditionTrue)
			}
		}
	}
	for _, rc := range w.objects.ReplicationControllers {
		if kind == "ReplicationController" && named(rc) {
			of.ReplicationControllers = append(of.ReplicationControllers, rc)
			for _, c := range rc.Status.Conditions {
				says(c.Reason, c.Message, c.Type == v1.ReplicationControllerReplicaFailure && c.Status == v1.ConditionTrue)
			}
		}
	}
	if text == "" {
		return ""
	}
	objects := *w.objects // claims and ReplicaSets that are made with the pods are no part of the input
	there := 0
	for _, p := range objects.Pods {
		if p.Namespace == namespace && !cluster.Finished(p) && w.ownedBy(p, kind, owner) {
			there++
		}
	}
	made := slices.DeleteFunc(must.Get(objects.ExpandOf(of)), func(p *v1.Pod) bool { return p.Namespace != namespace })
	if len(made) == 0 {
		return ""
	}
	if m := ofPods.FindStringSubmatch(text); m != nil {
		made[0].Name = m[1]
	}
	identify(made)
	w.objects.Pods = append(slices.Clip(w.objects.Pods), made...)
	for _, p := range made {
		w.refused = append(w.refused, dump.Refusal{Pod: p, Text: text})
	}
	w.lacks = fmt.Sprintf("%s %s/%s has %d of %d pods", kind, namespace, owner, there, there+len(made))
	return key(made[0])
}
