package diagnose

import (
	"slices"
	"sort"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// spent is an amount of which a quota has too little left for one pod.
type spent struct {
	quota, name       string    // of the amount, as the quota has it
	texts             [3]string // asked, used, hard, as the API server writes them
	asked, used, hard resource.Quantity
}

// spentOf reads what the API server says about a quota that is used up; nil for a text that is not whole.
func spentOf(m []string) (out []spent) {
	over, used, hard := strings.Split(m[2], ","), strings.Split(m[3], ","), strings.Split(m[4], ",")
	if len(used) != len(over) || len(hard) != len(over) {
		return nil
	}
	for k := range over {
		s := spent{quota: m[1]}
		s.name, s.texts[0], _ = strings.Cut(over[k], "=")
		_, s.texts[1], _ = strings.Cut(used[k], "=")
		_, s.texts[2], _ = strings.Cut(hard[k], "=")
		for i, to := range []*resource.Quantity{&s.asked, &s.used, &s.hard} {
			q, err := resource.ParseQuantity(s.texts[i])
			if err != nil {
				return nil
			}
			*to = q
		}
		out = append(out, s)
	}
	return out
}

// mostQuotas is how often quotas are made larger before no remedy is found.
const mostQuotas = 16

// raised adds the remedy of quotas that are large enough for all the pods. Where another quota of the namespace refuses them then, it becomes larger too.
func (x *refused) raised(list []spent) {
	var changes []Change
	hard := map[string]v1.ResourceList{}
	enlarge := func(list []spent, pods int) {
		for _, s := range list {
			sum, more := s.used.DeepCopy(), s.asked.DeepCopy()
			more.Mul(int64(pods))
			sum.Add(more)
			c := Change{Kind: RaiseBudget, Object: "ResourceQuota " + x.pods[0].Namespace + "/" + s.quota, Path: "spec.hard[" + s.name + "]", From: s.texts[2], To: sum.String()}
			if at := slices.IndexFunc(changes, func(has Change) bool { return has.Object == c.Object && has.Path == c.Path }); at >= 0 {
				changes[at].To = c.To
			} else {
				changes = append(changes, c)
			}
			if hard[s.quota] == nil {
				hard[s.quota] = v1.ResourceList{}
			}
			hard[s.quota][v1.ResourceName(s.name)] = sum
		}
	}
	enlarge(list, x.count())
	if x.in.Accept != nil {
		pods := x.all(nil)
		for n := 0; ; n++ {
			refusal := func(i int) error { return x.in.Accept(pods[:i+1], hard) }
			first := sort.Search(len(pods), func(i int) bool { return refusal(i) != nil })
			if first == len(pods) {
				break
			}
			text := refusal(first).Error()
			if m := refusedFor.FindStringSubmatch(text); m != nil {
				text = m[1]
			}
			m := overQuota.FindStringSubmatch(text)
			if m == nil || n == mostQuotas {
				return
			}
			next := spentOf(m)
			if next == nil {
				return
			}
			enlarge(next, x.count()-first)
		}
	}
	x.goes(changes)
}
