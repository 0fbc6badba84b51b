package reuse

import (
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/placement/internal/boxes"
	"github.com/podberth/podberth/placement/internal/hooks"
)

// buffers are memory that calls use again. Nothing in it outlives a call.
type buffers struct {
	key, idle        []byte
	reads            []string
	plugins          []nodePlugin
	predicates       filter.Predicates
	scorers          []hooks.Ranking
	groups, feasible []candidate
	raw, add         []int64
	ignored          []bool
	slots, counts    []int32
	spare            []groups      // of exceptions
	memory           engine.Memory // of states
	foundNodes       []foundNode
	tied             []uint64
	places           []int32
	found            boxes.Search
	events           []cluster.Event // from one version to another: in one block of the log, or copied to blocks
	blocks           []cluster.Event
	from, to         uint64 // these versions
	known            bool   // the log reaches back that far
}
