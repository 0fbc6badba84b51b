package diagnose

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/podinfo"
)

// This file is about who must bind a claim: the provisioner of a class, its CSIDriver and its pods.

// commonWords are words in the names of provisioners that say nothing of whose they are.
var commonWords = []string{"csi", "com", "org", "net", "dev", "driver", "storage", "provisioner", "kubernetes", "k8s", "cluster", "local", "cloud", "example", "aws", "azure", "rancher"}

// binds says what is known of the provisioner of a class: that it has no CSIDriver, where others have, and how its pods are. It is "" for volumes that
// a person makes.
func (x *sought) binds(provisioner string) string {
	if provisioner == noProvisioner {
		return ""
	}
	list := cluster.List[*storagev1.CSIDriver](x.c)
	names := namesOf(list.All())
	text := ""
	if _, there := list.Get("", provisioner); !there && names != nil {
		text = fmt.Sprintf("; it has no CSIDriver (%s %s)", few(names), verb(len(names), "exists", "exist"))
	}
	pods := x.provisioners(provisioner)
	if len(pods) == 0 {
		return text + "; no pod of it is known"
	}
	var down, up []string
	for _, p := range pods {
		if state := stateOf(p); state == "" {
			up = append(up, podinfo.Name(p))
		} else {
			down = append(down, podinfo.Name(p)+" "+state)
		}
	}
	if down == nil {
		return fmt.Sprintf("%s; %s of it %s ready", text, few(up), verb(len(up), "is", "are"))
	}
	return text + "; " + few(down)
}

// provisioners returns the pods that make the volumes of a provisioner. They are looked for once.
func (x *sought) provisioners(name string) []*v1.Pod {
	if _, known := x.makers[name]; !known {
		x.makers[name] = x.provisionersOf(name)
	}
	return x.makers[name]
}

// provisionersOf looks for the pods that make the volumes of a provisioner: first running pods, then waiting pods. Such a pod has a container, an image or
// a name with the word provisioner, and an argument or a variable with the provisioner's name. If there is none, a word of the provisioner's name in the
// name or the namespace of the pod is enough in the place of the argument. If there is none either, an argument or a variable alone is enough.
func (x *sought) provisionersOf(name string) []*v1.Pod {
	var both, looks, says []*v1.Pod
	words := slices.DeleteFunc(strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("./-", r) }), func(w string) bool {
		return len(w) < 3 || slices.Contains(commonWords, w)
	})
	add := func(p *v1.Pod) {
		if cluster.Finished(p) {
			return
		}
		makes, named := strings.Contains(p.Name, "provisioner"), false
		for _, c := range p.Spec.Containers {
			makes = makes || strings.Contains(c.Name, "provisioner") || strings.Contains(c.Image, "provisioner")
			named = named || slices.ContainsFunc(slices.Concat(c.Command, c.Args), func(a string) bool { return a == name || strings.HasSuffix(a, "="+name) }) ||
				slices.ContainsFunc(c.Env, func(e v1.EnvVar) bool { return e.Value == name })
		}
		switch {
		case makes && named:
			both = append(both, p)
		case named:
			says = append(says, p)
		case makes && slices.ContainsFunc(words, func(w string) bool { return strings.Contains(p.Namespace+"/"+p.Name, w) }):
			looks = append(looks, p)
		}
	}
	for _, i := range x.slots {
		for p := range x.c.Pods(i) {
			add(p)
		}
	}
	for _, p := range x.waiting {
		if p != nil && x.c.Pod(p.Namespace, p.Name) == nil {
			add(p)
		}
	}
	for _, list := range [][]*v1.Pod{both, looks} {
		if list != nil {
			return list
		}
	}
	return says
}

// stateOf says why a pod does not work: "waits for a node", "is not ready (CrashLoopBackOff, 57 restarts)"; "" for a pod that is ready.
func stateOf(p *v1.Pod) string {
	if p.Spec.NodeName == "" {
		return "waits for a node"
	}
	if p.DeletionTimestamp != nil {
		return "is being deleted"
	}
	if slices.ContainsFunc(p.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodReady && c.Status == v1.ConditionTrue }) {
		return ""
	}
	for _, c := range p.Status.ContainerStatuses {
		if w := c.State.Waiting; w != nil && w.Reason != "" {
			return fmt.Sprintf("is not ready (%s, %s)", w.Reason, count(int(c.RestartCount), "restart"))
		}
	}
	return "is not ready"
}
