package intern

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Lists get the numbers that a map of their texts gives, also after a copy and after Clear.
func TestNumber(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 3))
	var x Lists
	numbers := map[string]int32{}
	for step := range 4000 {
		switch r.IntN(400) {
		case 0:
			x.Clear()
			clear(numbers)
		case 1:
			old := x
			x = old.Clone()
			old.Next = append(old.Next[:0], int32(step), 1, 2, 3, 4, 5, 6) // does not get into the copy
			old.Number()
		}
		x.Next = x.Next[:0]
		for range r.IntN(4) {
			x.Next = append(x.Next, r.Int32N(9)-4)
		}
		text := fmt.Sprint(x.Next)
		want, knows := numbers[text]
		if !knows {
			want = int32(len(numbers))
			numbers[text] = want
		}
		got, known := x.Number()
		require.Equal(t, knows, known, text)
		require.Equal(t, want, got, text)
		require.Equal(t, len(numbers), len(x.ends))
	}
}

// Two copies give the next number to lists of their own, also where the original has room for more.
func TestCopiesAreApart(t *testing.T) {
	number := func(x *Lists, list ...int32) []any {
		x.Next = list
		n, known := x.Number()
		return []any{n, known}
	}
	var x Lists
	for k := range int32(5) {
		number(&x, k)
	}
	a, b := x.Clone(), x.Clone()
	require.Equal(t, []any{int32(5), false}, number(&a, 7))
	require.Equal(t, []any{int32(5), false}, number(&b, 8, 8))
	require.Equal(t, []any{int32(5), true}, number(&a, 7))
	require.Equal(t, []any{int32(5), true}, number(&b, 8, 8))
	require.Equal(t, []any{int32(5), false}, number(&x, 7))
}

// A list that has a number costs no memory.
func TestNumberAllocatesNothing(t *testing.T) {
	var x Lists
	x.Next = append(x.Next, 3, 1, 4)
	x.Number()
	require.Zero(t, testing.AllocsPerRun(10, func() {
		x.Next = append(x.Next[:0], 3, 1, 4)
		x.Number()
	}))
}

// BenchmarkNumber looks up one of 100 lists.
func BenchmarkNumber(b *testing.B) {
	var x Lists
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		x.Next = append(x.Next[:0], int32(i%10), 7, int32(i/10%10), -1)
		x.Number()
	}
	require.LessOrEqual(b, len(x.ends), 100)
}
