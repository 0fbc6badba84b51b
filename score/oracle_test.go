package score_test

import (
	"math"
	"math/big"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/score"
)

// slow returns the resource score of one node by the rules, over maps and big integers.
func slow(p *v1.Pod, st score.Strategy, r *rows, i int) int64 {
	if len(st.Resources) == 0 {
		st.Resources = weighted("cpu", 1, "memory", 1)
	}
	type part struct{ score, weight int64 }
	var parts []part
	for _, res := range st.Resources {
		name := v1.ResourceName(res.Name)
		w := max(res.Weight, 1)
		q := amountOf(p, name, true)
		if resources.IsScalar(name) && q.Sign() == 0 {
			continue
		}
		alloc, used := nodeAmounts(r, i, name, true)
		if alloc == 0 {
			continue
		}
		req := new(big.Int).Add(big.NewInt(used), q)
		if req.Cmp(big.NewInt(math.MaxInt64)) > 0 {
			req = big.NewInt(math.MaxInt64)
		}
		over := req.Cmp(big.NewInt(alloc)) > 0
		percent := func(n *big.Int) int64 {
			n = new(big.Int).Mul(n, big.NewInt(100))
			return n.Quo(n, big.NewInt(alloc)).Int64()
		}
		switch {
		case st.Type == score.LeastAllocated && over:
			parts = append(parts, part{0, w})
		case st.Type == score.LeastAllocated:
			parts = append(parts, part{percent(new(big.Int).Sub(big.NewInt(alloc), req)), w})
		case st.Type == score.MostAllocated && over:
			parts = append(parts, part{100, w})
		case st.Type == score.MostAllocated:
			parts = append(parts, part{percent(req), w})
		default:
			u := int64(100)
			if !over {
				u = percent(req)
			}
			if f := slowShape(st.RequestedToCapacityRatio.Shape, u); f > 0 {
				parts = append(parts, part{f, w})
			}
		}
	}
	var sum, weights int64
	for _, p := range parts {
		sum, weights = sum+p.score*p.weight, weights+p.weight
	}
	switch {
	case weights == 0:
		return 0
	case st.Type == score.RequestedToCapacityRatio:
		half := new(big.Rat).Add(big.NewRat(sum, weights), big.NewRat(1, 2)) // round half away from zero; all numbers are positive
		return new(big.Int).Quo(half.Num(), half.Denom()).Int64()
	}
	return sum / weights
}

func slowShape(shape []score.Point, u int64) int64 {
	last := len(shape) - 1
	if u <= int64(shape[0].Utilization) {
		return int64(shape[0].Score) * 10
	}
	for i := 1; i <= last; i++ {
		a, b := shape[i-1], shape[i]
		if u <= int64(b.Utilization) {
			rise := new(big.Rat).SetFrac64(int64(b.Score-a.Score)*10*(u-int64(a.Utilization)), int64(b.Utilization-a.Utilization))
			return int64(a.Score)*10 + new(big.Int).Quo(rise.Num(), rise.Denom()).Int64()
		}
	}
	return int64(shape[last].Score) * 10
}

// amountOf returns what the pod counts with, from the exact requests.
func amountOf(p *v1.Pod, name v1.ResourceName, fit bool) *big.Int {
	switch {
	case !slices.Contains([]v1.ResourceName{"cpu", "memory", "ephemeral-storage"}, name) && !resources.IsScalar(name):
		return new(big.Int)
	case fit:
		q := overhead.Requests(p, overhead.Options{IgnorePodLevel: true, Missing: v1.ResourceList{
			"cpu": resource.MustParse("100m"), "memory": resource.MustParse("200Mi")}})[name]
		return big.NewInt(resources.Value(name, q))
	}
	q := overhead.Requests(p, overhead.Options{})[name]
	return big.NewInt(resources.Value(name, q))
}

func nodeAmounts(r *rows, i int, name v1.ResourceName, nonZero bool) (alloc, used int64) {
	if name != "cpu" && name != "memory" && name != "ephemeral-storage" && !resources.IsScalar(name) {
		return 0, 0
	}
	q := r.nodes[i].Status.Allocatable[name]
	alloc = resources.Value(name, q)
	switch {
	case nonZero && name == "cpu":
		return alloc, r.cpu[i]
	case nonZero && name == "memory":
		return alloc, r.mem[i]
	}
	if c, ok := r.schema.Column(name); ok {
		used = r.used[i].At(c)
	}
	return alloc, used
}

// slowBalance is v1.36's formula over a list of fractions.
func slowBalance(p *v1.Pod, list []score.Resource, r *rows, i int) int64 {
	var with, without []float64
	for _, res := range list {
		name := v1.ResourceName(res.Name)
		q := amountOf(p, name, false).Int64()
		alloc, used := nodeAmounts(r, i, name, false)
		if alloc == 0 || resources.IsScalar(name) && q == 0 {
			continue
		}
		sum := used + q
		if sum < used {
			sum = math.MaxInt64
		}
		without = append(without, math.Min(1, float64(used)/float64(alloc)))
		with = append(with, math.Min(1, float64(sum)/float64(alloc)))
	}
	b := func(f []float64) int64 {
		var std float64
		switch {
		case len(f) == 2:
			std = math.Abs((f[0] - f[1]) / 2)
		case len(f) > 2:
			var mean, sum float64
			for _, x := range f {
				mean += x
			}
			mean /= float64(len(f))
			for _, x := range f {
				sum += math.Pow(x-mean, 2)
			}
			std = math.Sqrt(sum / float64(len(f)))
		}
		return int64((1 - std) * 100)
	}
	return 50 + (50+b(with)-b(without))/2
}
