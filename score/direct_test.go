package score

import (
	"cmp"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// ends has the numbers where the arithmetic takes another way.
var ends = []int64{0, 0, 1, 100, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64, math.MaxInt64 / MaxScore, 1 << 32, 1 << 48}

// number returns a number that is at most 8 away from an end, beyond int64 from the other end.
func number(b *testkit.Bytes) int64 { return testkit.Pick(b, ends...) + int64(b.Below(17)-8) }

// quotient is n*by/of over integers of any size.
func quotient(n, by, of int64) int64 {
	q := new(big.Int).Mul(big.NewInt(n), big.NewInt(by))
	q.Quo(q, big.NewInt(of))
	switch {
	case q.IsInt64():
		return q.Int64()
	case q.Sign() < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

func FuzzArithmetic(f *testing.F) {
	f.Add([]byte{})
	for seed := range uint64(testkit.Rounds(100)) {
		f.Add(testkit.RandomBytes(seed, 180))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b := testkit.NewBytes(data)
		for more := true; more; more = b.More() {
			n, by, of := number(b), number(b), number(b)
			if of == 0 {
				of = 1
			}
			if want, got := quotient(n, by, of), mulDiv(n, by, of); want != got {
				t.Fatalf("%d * %d / %d: want %d, got %d", n, by, of, want, got)
			}
			if want, got := quotient(n, by, 1), times(n, by); want != got {
				t.Fatalf("%d * %d: want %d, got %d", n, by, want, got)
			}
			limit := testkit.Pick[int64](b, 10, MaxScore)
			if want, got := quotient(n, limit, of), share(n, limit, of); want != got {
				t.Fatalf("%d * %d / %d: want %d, got %d", n, limit, of, want, got)
			}
		}
	})
}

// Between two points a score is the first point's, plus the rise over the whole way in parts of 100, without a fraction.
func FuzzShape(f *testing.F) {
	f.Add([]byte{2, 0, 0, 100, 10})
	for seed := range uint64(testkit.Rounds(100)) {
		f.Add(testkit.RandomBytes(seed, 8))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b := testkit.NewBytes(data)
		var points []Point
		for range 1 + b.Below(4) {
			points = append(points, Point{Utilization: int32(b.Below(101)), Score: int32(b.Below(11))})
		}
		slices.SortFunc(points, func(p, q Point) int { return cmp.Compare(p.Utilization, q.Utilization) })
		points = slices.CompactFunc(points, func(p, q Point) bool { return p.Utilization == q.Utilization })
		s := compileShape(points)
		for p := range int64(101) {
			after, at := slices.BinarySearchFunc(points, p, func(x Point, p int64) int { return cmp.Compare(int64(x.Utilization), p) })
			want := int64(points[min(after, len(points)-1)].Score) * 10
			if !at && after > 0 && after < len(points) {
				x, y := points[after-1], points[after]
				want = int64(x.Score)*10 + quotient(int64(y.Score-x.Score)*10, p-int64(x.Utilization), int64(y.Utilization-x.Utilization))
			}
			if got := s.at(p); want != got {
				t.Fatalf("%v at %d: want %d, got %d", points, p, want, got)
			}
		}
	})
}

// The best and the second node are the first two of a list that is in order of the totals.
func FuzzBest(f *testing.F) {
	f.Add([]byte{2, 5, 5, 1})
	for seed := range uint64(testkit.Rounds(100)) {
		f.Add(testkit.RandomBytes(seed, 16))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b := testkit.NewBytes(data)
		nodes := []string{"a", "b", "c", "d", "e", "f"}[:1+b.Below(6)]
		columns := []Column{{Weight: 1, Scores: make([]int64, len(nodes)-b.Below(2))}}[:b.Below(2)]
		list := make([]int64, len(nodes))
		for _, c := range columns {
			for i := range c.Scores {
				c.Scores[i] = int64(b.Below(4))
				list[i] = c.Scores[i]
			}
		}
		totals, err := Totals(nodes, columns, nil)
		require.NoError(t, err)
		if !slices.Equal(list, totals) {
			t.Fatalf("want %v, got %v", list, totals)
		}
		order := make([]int, len(nodes)) // the first of equal totals first
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(i, k int) int { return cmp.Compare(totals[k], totals[i]) })
		equal := slices.DeleteFunc(slices.Clone(order), func(i int) bool { return totals[i] != totals[order[0]] })
		choice := b.Below(len(nodes)+2) - 1
		want := order[0]
		if choice >= 0 && choice < len(equal) {
			want = equal[choice]
		}
		got := Best(totals, func(tied []int) int {
			if !slices.Equal(equal, tied) {
				t.Fatalf("equal: want %v, got %v", equal, tied)
			}
			return choice
		})
		if want != got {
			t.Fatalf("choice %d of %v: want %d, got %d", choice, totals, want, got)
		}
		x, err := Explain(nodes, columns, nil, want)
		require.NoError(t, err)
		others := slices.DeleteFunc(order, func(i int) bool { return i == want })
		second := ""
		if len(others) > 0 {
			second = nodes[others[0]]
		}
		if x.RunnerUp != second {
			t.Fatalf("%v beside %d: want %q, got %q", totals, want, second, x.RunnerUp)
		}
	})
}
