package placement

import (
	"math/rand/v2"
	"testing"

	"github.com/podberth/podberth/internal/testkit"
)

// Several plans of one cluster decide at the same time what one plan decides alone.
func TestConcurrentPlans(t *testing.T) {
	s := (&world{r: rand.New(rand.NewPCG(1, 2))}).snapshot(t, 20, 60)
	testkit.Together(t, func() (out []string, err error) {
		p, err := New(s, DefaultProfile())
		if err != nil {
			return nil, err
		}
		w := &world{}
		for k := range 30 {
			out = append(out, text(p.Decide(w.pod(k%10), Options{})))
		}
		return out, nil
	})
}
