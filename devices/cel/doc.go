// Package cel (experimental) evaluates the CEL selectors of ResourceClaims and DeviceClasses for package [devices], with the compiler and the
// cost limits of Kubernetes itself.
//
//	compiler := cel.NewCompiler()
//	allocator := devices.NewAllocator(ledger, class, compiler, devices.Options{})
//
// An expression sees one variable, device, with driver, attributes, capacity and allowMultipleAllocations. It must give a
// bool. A compile error, and an evaluation that costs more than 1,000,000 units, are errors with Kubernetes' own texts.
//
// The package is a module of its own: it links cel-go and Kubernetes libraries that package devices does not need. It wraps
// k8s.io/dynamic-resource-allocation/cel with the feature gates that v1.36 and v1.37 have on by default. Attributes that are lists
// are read with v0.37 of it and later (rule L1.9).
//
// What all packages promise is said in [github.com/podberth/podberth].
package cel
