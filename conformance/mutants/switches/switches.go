// Package switches switches mutations on in a test binary and counts what runs. The tool puts it beside the mutated package.
package switches

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// most is how many mutations and functions a binary may have.
const most = 1 << 16

// number says which mutation is on: 0 for none. -1 asks for the functions that run. With a comma, the mutations of set are on
// together, places that no input reaches panic, and all of them are counted.
var number, set = func() (int, []bool) {
	text := os.Getenv("PODBERTH_MUTANT")
	n, err := strconv.Atoi(text)
	if err == nil || text == "" {
		return n, nil
	}
	set := make([]bool, most)
	for _, f := range strings.Split(text, ",") {
		if n, err := strconv.Atoi(f); err == nil {
			set[n] = true
		}
	}
	return 0, set
}()

// On reports whether a mutation is on.
func On(mutation int) bool {
	return number == mutation || set != nil && together(mutation)
}

func together(mutation int) bool {
	if set[mutation] {
		count("m", mutation, &places[mutation])
	}
	return set[mutation]
}

// Never panics when the mutation is on and an input reaches its place.
func Never(mutation int, reached bool) bool {
	if On(mutation) && reached {
		panic("mutation " + strconv.Itoa(mutation) + " is reached")
	}
	return reached
}

// Run says that a function runs.
func Run(function int) {
	if number == -1 || set != nil {
		count("f", function, &functions[function])
	}
}

var places, functions [most]atomic.Int64

// Counter returns how often the place of a mutation ran, kind "m", or a function, kind "f".
func Counter(kind string, k int) *atomic.Int64 {
	if kind == "m" {
		return &places[k]
	}
	return &functions[k]
}

var hits struct {
	sync.Mutex
	file *os.File
	line []byte
}

// count writes the first, the 1,000th, the 2,000th execution and so on, up to a million. It takes no memory, because tests measure that.
func count(kind string, k int, counter *atomic.Int64) {
	const step = 1000
	n := counter.Add(1)
	if n != 1 && n%step != 0 || n > step*step {
		return
	}
	more := int64(step)
	if n == 1 {
		more = 1
	} else if n == step {
		more = step - 1
	}
	h := &hits
	h.Lock()
	defer h.Unlock()
	var err error
	if h.file == nil {
		h.line = make([]byte, 0, 100)
		h.file, err = os.OpenFile(os.Getenv("PODBERTH_MUTANT_HITS"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	}
	if err == nil {
		h.line = append(h.line[:0], kind...)
		h.line = strconv.AppendInt(append(h.line, ' '), int64(k), 10)
		h.line = strconv.AppendInt(append(h.line, ' '), more, 10)
		_, err = h.file.Write(append(h.line, '\n'))
	}
	if err != nil {
		panic(err)
	}
}
