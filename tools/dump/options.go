package dump

import (
	"errors"
	"flag"
	"fmt"
	"strconv"

	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/tools/report"
)

// Limits that no flag changes.
const (
	maxNesting = 500 // objects and lists in each other
	maxLists   = 8   // Lists in Lists
	portion    = 16  // one object may take this part of Options.MaxSize
)

// DefaultMaxSize is the limit of a file when [Options] name none: 256 MiB.
const DefaultMaxSize = 256 << 20

// Options change what [Read] accepts. The zero value has the default limits and turns unknown fields into warnings.
type Options struct {
	// MaxSize limits the bytes of a file, unpacked; 0 means DefaultMaxSize. An object, and a YAML document that is no List
	// written item by item, may take a sixteenth of that, with its aliases expanded.
	MaxSize int64

	// Strict makes fields that the API does not have an error.
	Strict bool

	// Verbose is report.Warnings.All of Objects.Warnings.
	Verbose bool

	// Progress is called with how many bytes of a file have been read, as they stand in the file, and how many there are; 0 when nobody knows.
	// At the end of the file both are equal. nil: no calls.
	Progress func(done, total int64)
}

// Flags defines the flags -max-size and -v.
func (o *Options) Flags(f *flag.FlagSet) {
	f.BoolVar(&o.Verbose, "v", false, "print every warning; without it they are grouped and at most "+strconv.Itoa(report.MaxWarnings)+" lines")
	f.Func("max-size", "read files of up to this `SIZE`, unpacked; an object may take a sixteenth of that (default 256Mi)", func(text string) (err error) {
		o.MaxSize, err = ParseSize(text)
		return err
	})
}

// ParseSize returns the bytes of a MaxSize in words, such as "256Mi": 1Mi to 1Pi. The error says what is allowed and does not repeat text.
func ParseSize(text string) (int64, error) {
	q, err := resources.ParseQuantity(text)
	if err != nil || q.Value() < 1<<20 || q.Value() > 1<<50 {
		return 0, errors.New("must be a quantity of bytes between 1Mi and 1Pi")
	}
	return q.Value(), nil
}

// file returns the limit of a file.
func (o Options) file() int64 {
	if o.MaxSize <= 0 {
		return DefaultMaxSize
	}
	return o.MaxSize
}

// object returns the limit of one object.
func (o Options) object() int { return int(o.file() / portion) }

func (o Options) tooLong() error {
	return refuse("Too long", "a file may have at most %d bytes, unpacked; -max-size raises the limit", o.file())
}

func (o Options) tooLarge() error {
	return refuse("Too long", "one object may have at most %d bytes, aliases expanded; -max-size raises the limit", o.object())
}

// refuse returns an error in the form of the API server's: what kind of mistake, then what is wrong.
func refuse(kind, format string, args ...any) error {
	return errors.New(kind + ": " + fmt.Sprintf(format, args...))
}
