package admission

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/overhead"
)

// annotationLimitRanger is the annotation in which the plugin LimitRanger says what it set.
const annotationLimitRanger = "kubernetes.io/limit-ranger"

// WithLimitRanges returns a copy of a new pod after the admission plugin LimitRanger, which is on by default. Each container
// and init container gets the requests and limits of the LimitRanges of its namespace for the resources that it does not
// name: items of type Container, default for limits and defaultRequest for requests. A default that is missing is max, and a
// defaultRequest that is missing is default or min, as the API server completes LimitRanges. The annotation
// kubernetes.io/limit-ranger says what was set. Several LimitRanges are taken by name; kube-apiserver takes them in any
// order. (Documentation, "Limit Ranges".) A nil pod
// gives nil.
func WithLimitRanges(pod *v1.Pod, ranges []*v1.LimitRange) *v1.Pod {
	if pod == nil {
		return nil
	}
	pod = pod.DeepCopy()
	for _, r := range rangesOf(pod, ranges) {
		requests, limits := containerDefaults(r)
		var said []string
		for _, group := range []struct {
			called     string
			containers []v1.Container
		}{{"container", pod.Spec.Containers}, {"init container", pod.Spec.InitContainers}} {
			for i := range group.containers {
				c := &group.containers[i]
				requested := fillFrom(&c.Resources.Requests, requests)
				limited := fillFrom(&c.Resources.Limits, limits)
				if requested != "" {
					said = append(said, fmt.Sprintf("%s request for %s %s", requested, group.called, c.Name))
				}
				if limited != "" {
					said = append(said, fmt.Sprintf("%s limit for %s %s", limited, group.called, c.Name))
				}
			}
		}
		if len(said) > 0 {
			if pod.Annotations == nil {
				pod.Annotations = map[string]string{}
			}
			pod.Annotations[annotationLimitRanger] = "LimitRanger plugin set: " + strings.Join(said, "; ")
		}
	}
	return pod
}

// rangesOf returns the LimitRanges of the pod's namespace by name.
func rangesOf(pod *v1.Pod, ranges []*v1.LimitRange) (out []*v1.LimitRange) {
	for _, r := range ranges {
		if r != nil && r.Namespace == pod.Namespace {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b *v1.LimitRange) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// containerDefaults returns what containers without requests and limits get. Later items win.
func containerDefaults(r *v1.LimitRange) (requests, limits v1.ResourceList) {
	requests, limits = v1.ResourceList{}, v1.ResourceList{}
	for i := range r.Spec.Limits {
		item := &r.Spec.Limits[i]
		if item.Type != v1.LimitTypeContainer {
			continue
		}
		defaults := orElse(item.Default, item.Max)
		maps.Copy(limits, defaults)
		maps.Copy(requests, orElse(item.DefaultRequest, defaults, item.Min))
	}
	return requests, limits
}

// orElse returns a list with the amounts of the first list that names a resource.
func orElse(lists ...v1.ResourceList) v1.ResourceList {
	out := v1.ResourceList{}
	for _, list := range slices.Backward(lists) {
		maps.Copy(out, list)
	}
	return out
}

// fillFrom adds the resources that list lacks and returns their names.
func fillFrom(list *v1.ResourceList, defaults v1.ResourceList) string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(defaults)) {
		if _, ok := (*list)[name]; ok {
			continue
		}
		if *list == nil {
			*list = v1.ResourceList{}
		}
		(*list)[name] = defaults[name].DeepCopy()
		names = append(names, string(name))
	}
	return strings.Join(names, ", ")
}

// CheckLimitRanges returns the error with which LimitRanger refuses a pod: an amount of a container, or the sum of a pod, below
// min or above max, or a limit too large for its request. nil admits the pod. An error has every violation of one LimitRange,
// sorted by resource inside of an item. A nil pod is admitted.
func CheckLimitRanges(pod *v1.Pod, ranges []*v1.LimitRange) error {
	if pod == nil {
		return nil
	}
	for _, r := range rangesOf(pod, ranges) {
		var errs []string
		for i := range r.Spec.Limits {
			item := &r.Spec.Limits[i]
			switch item.Type {
			case v1.LimitTypeContainer:
				for _, containers := range [][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
					for k := range containers {
						errs = append(errs, violations(item, containers[k].Resources.Requests, containers[k].Resources.Limits)...)
					}
				}
			case v1.LimitTypePod:
				o := overhead.Options{IgnoreOverhead: true}
				errs = append(errs, violations(item, overhead.Requests(pod, o), overhead.Limits(pod, o))...)
			}
		}
		switch errs = distinct(errs); len(errs) {
		case 0:
		case 1:
			return refused(pod, errors.New(errs[0]))
		default:
			return refused(pod, errors.New("["+strings.Join(errs, ", ")+"]"))
		}
	}
	return nil
}

// distinct returns each text once, in the order of first places.
func distinct(list []string) (out []string) {
	for _, text := range list {
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// violations returns what requests and limits break of an item.
func violations(item *v1.LimitRangeItem, requests, limits v1.ResourceList) (errs []string) {
	say := func(format string, args ...any) { errs = append(errs, fmt.Sprintf(format, args...)) }
	for _, name := range slices.Sorted(maps.Keys(item.Min)) {
		min := item.Min[name]
		request, requested := requests[name]
		limit, limited := limits[name]
		switch begin := fmt.Sprintf("minimum %s usage per %s is %s", name, item.Type, min.String()); {
		case !requested:
			say("%s.  No request is specified", begin)
		case request.Cmp(min) < 0:
			say("%s, but request is %s", begin, request.String())
		case limited && limit.Cmp(min) < 0:
			say("%s, but limit is %s", begin, limit.String())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(item.Max)) {
		max := item.Max[name]
		request, requested := requests[name]
		limit, limited := limits[name]
		switch begin := fmt.Sprintf("maximum %s usage per %s is %s", name, item.Type, max.String()); {
		case !limited:
			say("%s.  No limit is specified", begin)
		case limit.Cmp(max) > 0:
			say("%s, but limit is %s", begin, limit.String())
		case requested && request.Cmp(max) > 0:
			say("%s, but request is %s", begin, request.String())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(item.MaxLimitRequestRatio)) {
		max := item.MaxLimitRequestRatio[name]
		request, limit := requests[name], limits[name]
		switch begin := fmt.Sprintf("%s max limit to request ratio per %s is %s", name, item.Type, max.String()); {
		case request.IsZero():
			say("%s, but no request is specified or request is 0", begin)
		case limit.IsZero():
			say("%s, but no limit is specified or limit is 0", begin)
		case ratio(limit, request) > max.AsApproximateFloat64():
			say("%s, but provided ratio is %f", begin, ratio(limit, request))
		}
	}
	return errs
}

func ratio(limit, request resource.Quantity) float64 {
	return limit.AsApproximateFloat64() / request.AsApproximateFloat64()
}
