package workload

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
)

// job makes the pods that may run now and do not.
func (m *maker) job(j *batchv1.Job) {
	if gone(j) || ended(j) || j.Spec.Suspend != nil && *j.Spec.Suspend ||
		j.Spec.ManagedBy != nil && *j.Spec.ManagedBy != batchv1.JobControllerName {
		return
	}
	o := owner{batch, "Job", j}
	pods := m.of(o, j.Spec.Selector)
	running := 0
	for _, p := range pods {
		if holds(j, p) {
			running++
		}
	}
	if j.Spec.CompletionMode != nil && *j.Spec.CompletionMode == batchv1.IndexedCompletion {
		m.indexes(o, j, pods, running)
		return
	}
	succeeded := 0
	for _, p := range pods {
		if p.Status.Phase == v1.PodSucceeded {
			succeeded++
		}
	}
	succeeded = max(succeeded, int(j.Status.Succeeded))
	want := orOne(j.Spec.Parallelism)
	switch {
	case j.Spec.Completions != nil:
		want = min(want, int(*j.Spec.Completions)-succeeded)
	case succeeded > 0: // the pods of a work queue end together
		return
	}
	m.alike(o, want-running, func() *v1.Pod { return m.jobPod(o, j, j.Name+"-") })
}

// ended reports whether a Job makes no more pods.
func ended(j *batchv1.Job) bool {
	return slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		switch c.Type {
		case batchv1.JobComplete, batchv1.JobFailed, batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet:
			return c.Status == v1.ConditionTrue
		}
		return false
	})
}

// holds reports whether a pod has a place of the Job's parallelism. With podReplacementPolicy Failed a terminating pod keeps
// its place until it has ended.
func holds(j *batchv1.Job, p *v1.Pod) bool {
	return active(p) || !podinfo.Finished(p) && j.Spec.PodReplacementPolicy != nil && *j.Spec.PodReplacementPolicy == batchv1.Failed
}

// indexes makes the lowest indexes that neither run nor are done.
func (m *maker) indexes(o owner, j *batchv1.Job, pods []*v1.Pod, running int) {
	done, _ := parseIndexes(j.Status.CompletedIndexes) // check has read them
	failed, _ := parseIndexes(deref(j.Status.FailedIndexes))
	done = append(done, failed...)
	for _, p := range pods {
		i, err := strconv.Atoi(p.Annotations[batchv1.JobCompletionIndexAnnotation])
		if err == nil && (p.Status.Phase == v1.PodSucceeded || holds(j, p)) {
			done = append(done, span{i, i})
		}
	}
	slices.SortFunc(done, func(a, b span) int { return a.from - b.from })
	left := int(*j.Spec.Completions)
	for _, s := range done {
		left -= s.to - s.from + 1
	}
	if !m.room(o, min(left, orOne(j.Spec.Parallelism)-running)) {
		return
	}
	next := 0
	for n := orOne(j.Spec.Parallelism) - running; n > 0; n-- {
		for len(done) > 0 && done[0].from <= next {
			next, done = max(next, done[0].to+1), done[1:]
		}
		if next >= int(*j.Spec.Completions) || !m.index(o, j, next) {
			return
		}
		next++
	}
}

// index makes the pod of one completion index.
func (m *maker) index(o owner, j *batchv1.Job, i int) bool {
	text := strconv.Itoa(i)
	p := m.jobPod(o, j, j.Name+"-"+text+"-")
	p.Annotations[batchv1.JobCompletionIndexAnnotation], p.Labels[batchv1.JobCompletionIndexAnnotation] = text, text
	p.Spec.Hostname = j.Name + "-" + text
	env := v1.EnvVar{Name: "JOB_COMPLETION_INDEX", ValueFrom: &v1.EnvVarSource{
		FieldRef: &v1.ObjectFieldSelector{FieldPath: "metadata.labels['" + batchv1.JobCompletionIndexAnnotation + "']"},
	}}
	for _, containers := range [][]v1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for k := range containers {
			if !slices.ContainsFunc(containers[k].Env, func(e v1.EnvVar) bool { return e.Name == env.Name }) {
				containers[k].Env = append(containers[k].Env, env)
			}
		}
	}
	return m.add(p, "")
}

// jobPod returns a pod of a Job, with the labels that the API server gives the templates of Jobs that do not select
// manually.
func (m *maker) jobPod(o owner, j *batchv1.Job, generateName string) *v1.Pod {
	p := m.pod(o, &j.Spec.Template, generateName)
	if j.Spec.ManualSelector == nil || !*j.Spec.ManualSelector {
		p.Labels[batchv1.JobNameLabel], p.Labels["job-name"] = j.Name, j.Name
		if j.UID != "" {
			p.Labels[batchv1.ControllerUidLabel], p.Labels["controller-uid"] = string(j.UID), string(j.UID)
		}
	}
	p.Finalizers = append(p.Finalizers, batchv1.JobTrackingFinalizer)
	return p
}

// span is a run of indexes, both ends included.
type span struct{ from, to int }

// parseIndexes reads indexes as a Job's status writes them: "1,3-5,7".
func parseIndexes(text string) (list []span, err error) {
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err1 := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if err1 != nil || err2 != nil || to < from { // a minus sign is part of no number here
			return nil, errors.New("must be indexes such as 1,3-5,7")
		}
		list = append(list, span{from, to})
	}
	return list, nil
}
