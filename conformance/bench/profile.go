package main

import (
	"os"
	"runtime/pprof"
)

// profileTo is the file for the CPU profile; empty: none.
var profileTo string

// profiled begins the profile of a timed run. The function that it returns ends the profile.
func profiled() (stop func(), err error) {
	if profileTo == "" {
		return func() {}, nil
	}
	f, err := os.Create(profileTo)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		f.Close()
	}, nil
}
