package cel_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/podberth/podberth/devices/cel"
)

// One compiler serves several goroutines, also for expressions that it has not seen.
func TestConcurrentUse(t *testing.T) {
	c := cel.NewCompiler()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for index := range 20 {
				s, err := c.Compile(fmt.Sprintf(`device.attributes["gpu.example.com"].index == %d`, index))
				if !assert.NoError(t, err) {
					return
				}
				matches, err := s.Matches(gpu())
				assert.NoError(t, err)
				assert.Equal(t, index == 0, matches)
			}
		})
	}
	wg.Wait()
}
